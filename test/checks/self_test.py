#!/usr/bin/env python3
"""The checks find what they claim to find: each case is a small tree with one fault."""
import os
import subprocess
import sys
import tempfile

import check_documents
import check_objects
import check_sources
import mutate
import rules

CLASS = """#pragma once
class Wide : public Base<int> {
 public:
  enum class Kind { a, b };
  using Name = std::map<int, int>;
  explicit Wide(int x) : y_{x} {}
  ~Wide() override;
  bool operator==(const Wide&) const = default;
  int one() const { if (true) { return 1; } return 2; }
  int one(int) const;
  std::array<int, 3> two = {1, 2, 3}, three;
  static constexpr int four = 4;
%s
 private:
  int y_ = 0;
  void hidden();
};
"""

CASES = [
    ("src/rails/a.h", CLASS % "".join(f"  int f{i}(int a, int b);\n" for i in range(20)), None),
    ("src/rails/a.h", CLASS % "".join(f"  int f{i}(int a, int b);\n" for i in range(21)), "members"),
    ("src/message/a.h", CLASS % "".join(f"  int f{i};\n" for i in range(30)), None),
    ("src/channel/a.cpp", "struct A {\n" + "".join(f"  std::vector<B> f{i} = {{}};\n" for i in range(25)) + "};\n", "members"),
    # (path, text, rule expected or None)
    ("src/channel/a.h", '#pragma once\n#include "message/request.h"\n', "include"),
    ("src/collective/a.cpp", '#include "window/window.h"\n', "include"),
    ("src/access/a.cpp", '#include "fabric/port.h"\n', "include"),
    ("src/message/a.cpp", "#include <infiniband/verbs.h>\n", "include"),
    ("src/tool/a.cpp", '#include "testbed/simulator/x.h"\n', "include"),
    ("src/process/a.cpp", '#include "launch/bootstrap.h"\n#include "collective/x.h"\n', None),
    ("src/testbed/a.cpp", '#include "process/x.h"\n#include "provider/x.h"\n', None),
    ("src/message/a.cpp", "auto t = std::chrono::steady_clock::now();\n", "clock"),
    ("src/message/a.cpp", "long t = time(nullptr);\n", "clock"),
    ("src/message/a.cpp", "// time(nullptr), getenv(\"X\")\nauto t = event.time();\n", None),
    ("src/access/a.cpp", "long t = time(nullptr);\n", None),
    ("src/channel/a.cpp", 'auto x = getenv("HOME");\n', "environment"),
    ("src/channel/a.cpp", "std::random_device device;\n", "random"),
    ("src/channel/a.cpp", "std::thread worker;\n", "thread"),
    ("src/channel/a.cpp", "thread_local int x;\n", "thread-local"),
    ("src/channel/a.cpp", "void* p = ::mmap(nullptr, 1, 2, 3, 4, 5);\n", "system-call"),
    ("src/channel/a.cpp", 'std::printf("x");\n', "print"),
    ("src/channel/a.cpp", "  static int counter = 0;\n", "mutable-static"),
    ("src/channel/a.cpp", "static std::vector<int> all;\n", "mutable-static"),
    ("src/channel/a.cpp", "  static constexpr int x = 0;\n  static Ref<X> make(int a);\nstatic int f(int x) {\n}\n", None),
    ("src/channel/a.h", "#pragma once\n  static Status empty() { return {}; }\n", None),
    ("src/message/a.cpp", "std::map<Request*, int> m;\n", "pointer-keyed"),
    ("src/message/a.cpp", "std::unordered_set<const Peer *> m;\n", "pointer-keyed"),
    ("src/message/a.cpp", "std::map<int, Request*> m;\n", None),
    ("src/message/a.cpp", "// TO" + "DO: later\n", "unfinished"),
    ("src/message/a.cpp", "int x;\n" * 501, "file-length"),
    ("src/message/a.cpp", "void f() {\n" + "  g();\n" * 70 + "}\n", "function-length"),
    ("src/message/a.cpp", "x" * 111 + "\n", "columns"),
    ("src/message/a.h", "int x;\n", "header"),
    ("src/cellar/a.cpp", "int x;\n", "include"),
    ("src/rails/datapath/a.h", '#pragma once\n#include "rails/recovery/failover.h"\n', "floor"),
    ("src/rails/protocol/a.cpp", '#include "rails/rail_engine.h"\n', "floor"),
    ("src/rails/cellar/a.cpp", "int x;\n", "floor"),
    ("src/rails/recovery/a.cpp", '#include "rails/recovery/b.h"\n#include "rails/wire/packet.h"\n', None),
    ("src/rails/a.cpp", '#include "rails/recovery/b.h"\n', None),
    ("src/rails/wire/a_test.cpp", '#include "rails/policy/b.h"\n', None),
]

OBJECT_CASES = [
    ("int counter;\nint f() { return ++counter; }\n", "data"),
    ("int f() { static int calls = 5; return ++calls; }\n", "data"),
    ("thread_local int x = 3;\n", "data"),
    ("#include <stdlib.h>\nchar* f() { return getenv(\"X\"); }\n", "import"),
    ("#include <chrono>\nlong f() { return std::chrono::steady_clock::now().time_since_epoch().count(); }\n", "import"),
    ("#include <stdio.h>\nvoid f() { puts(\"x\"); }\n", "import"),
    ("struct A { virtual int f(); };\nint A::f() { return 3; }\nconst char* const names[] = {\"a\", \"b\"};\n"
     "const char* g(int i) { return names[i]; }\n", None),
]


WORD = "nine four "  # ten columns
DOCUMENT_CASES = [
    # (text, number of lines that are too long, lines when they are broken anew)
    (WORD * 12, 0, [WORD * 12]),
    (WORD * 13 + "\nend", 1, [(WORD * 12)[:-1], WORD + "end"]),
    ("- " + WORD * 12, 1, ["- " + WORD * 11 + "nine", "  four"]),
    ("1. " + WORD * 12 + "\n\n  2. " + WORD, 1, ["1. " + WORD * 11 + "nine", "   four", "", "  2. " + WORD]),
    ("| " + WORD * 20 + "|", 0, ["| " + WORD * 20 + "|"]),
    ("```\n" + WORD * 20 + "\n```\n" + WORD, 0, ["```", WORD * 20, "```", WORD]),
    ("- http://" + "x" * 200, 0, ["- http://" + "x" * 200]),
    (WORD * 11 + "`a b c d e f`\n- x", 1, [(WORD * 11)[:-1], "`a b c d e f`", "- x"]),  # not within code
    (WORD * 11 + "nine fives - 2. # end of it", 1, [WORD * 11 + "nine", "fives - 2. # end of it"]),  # not before markup
]


def run_source_case(path, text):
    with tempfile.TemporaryDirectory() as root:
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full))
        with open(full, "w", encoding="utf-8") as out:
            out.write(text)
        empty = os.path.join(root, "exceptions.txt")
        open(empty, "w").close()
        return check_sources.check(root, rules.Exceptions(empty))[0]


def run_object_case(text):
    with tempfile.TemporaryDirectory() as build:
        folder = os.path.join(build, "CMakeFiles/hawser_message.dir/src/message")
        os.makedirs(folder)
        source = os.path.join(build, "a.cpp")
        with open(source, "w", encoding="utf-8") as out:
            out.write(text)
        subprocess.run(["g++", "-std=c++20", "-O1", "-fPIC", "-c", source, "-o", folder + "/a.cpp.o"], check=True)
        empty = os.path.join(build, "exceptions.txt")
        open(empty, "w").close()
        return check_objects.check(build, rules.Exceptions(empty))[0]


MUTATION_CASES = [
    # (text, what the mistakes make of its lines)
    ("  if (a < b && !c) f(x);\n", {"  if (a <= b && !c) f(x);", "  if (a < b || !c) f(x);", "  if (a < b && c) f(x);"}),
    ("  sent_ += bytes;\n", {"  sent_ -= bytes;", "  ;"}),
    ("  queue.clear();  // 0 < 1\n", {"  ;"}),
    ("  int left = count;\n  return left;\n  // a == b\n#if A == B\n", set()),
]


def main():
    failures = 0
    for text, expected in MUTATION_CASES:
        made = {after for _, _, after in mutate.mutants(text)}
        if made != expected:
            failures += 1
            print(f"mutants: expected {expected}, got {made}")
    results = [(case[:1] + (case[1],), case[2], run_source_case(case[0], case[1])) for case in CASES]
    results += [(("object", text), expected, run_object_case(text)) for text, expected in OBJECT_CASES]
    for text, long_lines, expected in DOCUMENT_CASES:
        better = check_documents.wrapped(text)
        problems = list(check_documents.problems_of("page", text))
        if len(problems) != long_lines or better.split("\n") != expected:
            failures += 1
            print(f"document: {long_lines} long lines and {expected} expected, got {problems} and {better!r}")
    for (where, text), expected, problems in results:
        good = not problems if expected is None else any(f"[{expected}]" in problem for problem in problems)
        if not good:
            failures += 1
            print(f"{where}: expected {expected}, got {problems}; text:\n{text[:200]}")
    print(f"{len(results) + len(DOCUMENT_CASES) + len(MUTATION_CASES)} cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
