#!/usr/bin/env python3
"""Do the unit tests of a source file notice when it is wrong?  Makes small mistakes in it, one at a time, and reports
those that its test program does not find.

usage: test/checks/mutate.py SOURCE TEST [--build DIR] [--sample N] [--seed S] [--gtest-filter F] [--jobs N]
  e.g. test/checks/mutate.py src/message/matching.cpp message_test --sample 30

A mutant turns a comparison or a condition round, goes one too far, or leaves a statement out. It is compiled beside the
tree with the file's own command and linked in front of the room's library; nothing in the tree or the build changes.
Exit code 0: all mutants were found; 1: some survived, and are printed; 2: it did not work. Not part of ctest: a mutant
takes some seconds. A survivor is a question, not always a fault: some mistakes change nothing that anybody can see.
"""
import argparse
import concurrent.futures
import json
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

import rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
SWAPS = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
         (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "), (r" \+= ", " -= "), (r" -= ", " += "),
         (r"\+\+(?=\w)", "--"), (r"--(?=\w)", "++"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
         (r"(?<=\()!(?=\w)", ""), (r"(?<= )!(?=\w)", ""), (r"\b0\b(?![.x])", "1"), (r"\b1\b(?!\.)", "2"), (r"std::min\b", "std::max"),
         (r"std::max\b", "std::min")]
# A statement by itself: a call or an assignment, not a declaration or a jump.
STATEMENT = re.compile(r"^\s*(?!return\b|break\b|continue\b|using\b|static_assert\b|case\b|else\b|if\b|for\b|while\b|throw\b|goto\b|delete\b|HAWSER_ASSERT)"
                       r"[\w.\->:*\[\]]+(\(.*\)|\s[-+|&]?=\s.*|\+\+|--);$|^\s*(\+\+|--)[\w.\->]+;$")


def mutants(text):
    """(line number, line before, line after) of every mistake that can be made."""
    lines = text.splitlines()
    plain = rules.strip_comments(text).splitlines()
    for number, (line, code) in enumerate(zip(lines, plain)):
        if code.lstrip().startswith("#") or "HAWSER_ASSERT" in code or "template" in code:
            continue
        for pattern, other in SWAPS:
            for match in re.finditer(pattern, code):
                yield number, line, line[:match.start()] + other + line[match.end():]
        if STATEMENT.match(code.rstrip()):
            yield number, line, re.match(r"\s*", line).group() + ";"


class Bench:
    """Compiles and links mutants of one source, and runs its tests on them."""

    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.text = options.source.read_text(encoding="utf-8")
        commands = json.loads((options.build / "compile_commands.json").read_text(encoding="utf-8"))
        own = [each for each in commands if pathlib.Path(each["file"]) == options.source and "_entries_" not in each["command"]]
        if not own:
            raise SystemExit(f"mutate: {options.source} is not compiled in {options.build}")
        self.compile = shlex.split(own[0]["command"])
        listing = subprocess.run(["ninja", "-C", options.build, "-t", "commands", f"test/{options.test}"], capture_output=True,
                                 text=True, check=False)
        if listing.returncode != 0:
            raise SystemExit(f"mutate: no test program '{options.test}' in {options.build}: {listing.stderr.strip()}")
        link = next(line for line in reversed(listing.stdout.splitlines()) if f"-o test/{options.test}" in line)
        link = re.sub(r"&& cd .*$", "", link)  # what finds the cases for ctest
        self.link = [word for word in shlex.split(link) if word not in (":", "&&")]

    def build_and_run(self, index, text, limit):
        """killed, survived or invalid, and how long the tests took."""
        source, object_file, program = (self.scratch / f"{index}.{end}" for end in ("cpp", "o", "test"))
        source.write_text(text, encoding="utf-8")
        words = list(self.compile)
        words[words.index("-o") + 1] = str(object_file)
        words[words.index("-c") + 1] = str(source)
        for flag in ("-MF", "-MT"):
            if flag in words:
                words[words.index(flag) + 1] = str(self.scratch / f"{index}.d")
        built = subprocess.run([*words, "-w", "-O0", "-g0", "-I", self.options.source.parent], cwd=self.options.build,
                               capture_output=True, text=True, check=False)
        if built.returncode != 0:
            return "invalid", built.stderr
        words = list(self.link)
        words[words.index("-o") + 1] = str(program)
        first = next(i for i, word in enumerate(words) if word.endswith(".o"))
        linked = subprocess.run([*words[:first], str(object_file), *words[first:]], cwd=self.options.build, capture_output=True,
                                text=True, check=False)
        if linked.returncode != 0:
            return "invalid", linked.stderr
        begin = time.monotonic()
        try:
            done = subprocess.run([program, f"--gtest_filter={self.options.gtest_filter}", "--gtest_brief=1", "--gtest_fail_fast"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit, check=False)
            verdict = "survived" if done.returncode == 0 else "killed"
        except subprocess.TimeoutExpired:
            verdict = "killed"
        for path in (source, object_file, program):
            path.unlink(missing_ok=True)
        return verdict, time.monotonic() - begin


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("test")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--sample", type=int, default=40, help="so many mutants; 0: all (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gtest-filter", default="*")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.source, options.build = options.source.resolve(), options.build.resolve()
    if not options.source.is_file():
        parser.error(f"there is no {options.source}")
    return options


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="hawser-mutants-") as folder:
        bench = Bench(options, pathlib.Path(folder))
        lines = bench.text.split("\n")
        every = list(mutants(bench.text))
        chosen = sorted(random.Random(options.seed).sample(every, min(options.sample or len(every), len(every))))
        verdict, took = bench.build_and_run("none", bench.text, 600)
        if verdict != "survived":
            print(f"mutate: without a mutation the tests are not good: {verdict}: {took}", file=sys.stderr)
            return 2
        limit = 20 + 10 * took

        def judge(item):
            index, (number, _, after) = item
            return bench.build_and_run(index, "\n".join([*lines[:number], after, *lines[number + 1:]]), limit)[0]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            verdicts = list(pool.map(judge, enumerate(chosen)))
    for (number, before, after), verdict in zip(chosen, verdicts):
        if verdict == "survived":
            print(f"{options.source.relative_to(ROOT)}:{number + 1}: survived\n  - {before.strip()}\n  + {after.strip()}")
    counts = {each: verdicts.count(each) for each in ("killed", "survived", "invalid")}
    print(f"{options.source.name}: {len(every)} mutants, {len(chosen)} tried: " + ", ".join(f"{n} {each}" for each, n in counts.items()))
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
