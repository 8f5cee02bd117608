#!/usr/bin/env python3
"""A program of cases never passes without having run what was asked of it (cases.py).  Usage: cases_test.py ROOT"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import cases
from cases import SKIPPED, main

ROOT = pathlib.Path(sys.argv[1])
PROGRAM = """
import subprocess, sys, unittest
sys.path.insert(0, {support!r})
import cases
cases.PACKAGES.update({{"no-such-program": "such-a-package", "sh": "dash"}})
class Good(unittest.TestCase):
    def test_one(self): pass
    def test_other(self): pass
class Bad(unittest.TestCase):
    def test_it(self): self.fail("as it should")
class Skips(unittest.TestCase):
    def test_one(self): pass
    def test_other(self): self.skipTest("for a reason")
@cases.needs("no-such-program")
class Needs(unittest.TestCase):
    def test_it(self): pass
class Hangs(unittest.TestCase):
    def test_it(self):
        self.addCleanup(print, "cleaned up")
        subprocess.run(["sleep", "1000"])
    def test_other(self): pass
class NeedsPartly(unittest.TestCase):
    @cases.needs("no-such-program")
    def test_it(self): pass
    @cases.needs("sh")
    def test_other(self): pass
if "leave" in sys.argv: cases.leave(cases.missing("no-such-program"))
cases.main(*sys.argv[1:])
"""


class Cases(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name) / "program.py"
        self.program.write_text(PROGRAM.format(support=str(ROOT / "test/support")), encoding="utf-8")

    def ends(self, code, *words, says="", strict=False, limit=60):
        done = subprocess.run([sys.executable, "-B", self.program, *words], capture_output=True, text=True, timeout=60,
                              check=False, env={**os.environ, "TESTS_NEED_PACKAGES": str(int(strict)),
                                   "HAWSER_TESTS_LIMIT": str(limit)})
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(says, done.stdout + done.stderr)

    def test_what_passes_and_what_fails(self):
        self.ends(0, "Good")
        self.ends(0, "Good.test_one")
        self.ends(1, "Bad")
        self.ends(1, "Bad", "Skips")

    def test_what_hangs_fails_and_is_cleaned_up(self):
        self.ends(1, "Hangs", limit=1, says="test_it (__main__.Hangs.test_it) is not done after 1 s")
        self.ends(1, "Hangs", limit=1, says="cleaned up")
        self.ends(0, "Hangs.test_other", limit=1)

    def test_what_skips_is_skipped(self):
        self.ends(SKIPPED, "Skips", says="for a reason")
        self.ends(0, "Skips.test_one")

    def test_what_is_missing_is_skipped_or_fails_and_is_named(self):
        for words in ("Needs", "NeedsPartly", "leave"):
            self.ends(SKIPPED, words, says="install such-a-package: no-such-program not found")
            self.ends(1, words, says="install such-a-package: no-such-program not found", strict=True)
        self.ends(0, "NeedsPartly.test_other", strict=True)

    def test_a_name_that_nothing_has_fails_and_says_which_there_are(self):
        for words in (("Goood",), ("Good.test_onne",), ("Good", "Goood"), ("-k", "nothing_has_this")):
            self.ends(2, *words, says="\n  Good.test_other\n")


class Expect(unittest.TestCase):
    """expect.py looks at both the exit code and the words."""

    def ends(self, wanted, code, pattern, script):
        done = subprocess.run([sys.executable, "-B", ROOT / "test/support/expect.py", str(code), pattern, "sh", "-c", script],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, wanted, done)

    def test_both_must_be_right(self):
        self.ends(0, 3, "a.*b", "echo a; echo b >&2; exit 3")
        self.ends(1, 0, "a", "echo a; exit 3")
        self.ends(1, 3, "b", "echo a; exit 3")
        self.ends(1, 1, "a", "echo a; kill -SEGV $$")
        self.ends(SKIPPED, 0, "a", f"exit {SKIPPED}")


class Tree(unittest.TestCase):
    def test_every_package_is_in_the_list(self):
        listed = (ROOT / "scripts/packages.txt").read_text(encoding="utf-8").split()
        self.assertEqual(sorted(set(cases.PACKAGES.values()) - set(listed)), [])

    def test_every_test_in_python_may_be_shown_as_skipped(self):
        """All are added by hawser_python_test, all begin with what cases.py has, and none skips in a way of its own."""
        for path in [*ROOT.glob("test/**/CMakeLists.txt"), *ROOT.glob("src/**/CMakeLists.txt")]:
            text = path.read_text(encoding="utf-8")
            self.assertNotRegex(text, r"add_test\([^)]*Python3_EXECUTABLE", path)
            self.assertNotRegex(text, "PASS_REGULAR_EXPRESSION|WILL_FAIL", f"{path}: hawser_output_test looks at both")
        programs = [path for path in ROOT.glob("test/**/*.py") if "unittest.TestCase" in path.read_text(encoding="utf-8")]
        self.assertGreater(len(programs), 10)
        for path in programs:
            text = path.read_text(encoding="utf-8")
            self.assertFalse(path.parent.name != "support" and re.search(r"unittest\.main\(|shutil\.which\(.*skip", text), path)


class Script(unittest.TestCase):
    """What continuous integration runs, with stubs of what takes long."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in (".ci/run", "scripts/test", "scripts/install-dependencies"):
            (self.root / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self.stub("cmake", "exit 0")
        self.stub("ctest", 'echo "strict: $TESTS_NEED_PACKAGES"')
        self.stub("sudo", 'exec "$@"')
        self.stub("apt-get", '[ "$1" = update ] || { echo "E: Unable to locate package ${*: -1}" >&2; exit 100; }')

    def stub(self, name, text):
        path = self.root / "stubs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def run_with(self, *packages):
        (self.root / "scripts/packages.txt").write_text("".join(f"{each}\n" for each in packages), encoding="utf-8")
        return subprocess.run([self.root / ".ci/run"], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "PATH": f"{self.root}/stubs:{os.environ['PATH']}"})

    def test_a_package_that_cannot_be_had_is_an_error_that_names_it(self):
        done = self.run_with("bash", "no-such-package")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no-such-package", done.stderr)

    def test_tests_that_miss_a_package_fail(self):
        done = self.run_with("bash")
        self.assertEqual((done.returncode, done.stdout), (0, "strict: 1\n"), done.stderr)


if __name__ == "__main__":
    main(*sys.argv[2:])
