"""The manual pages say what the programs' --help says: every option is in its page, and no page has one that is not there.

Usage: manual_test.py FOLDER-OF-PROGRAMS FOLDER-OF-PAGES
"""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from cases import main, needs  # noqa: E402

PROGRAMS, PAGES = map(pathlib.Path, sys.argv[1:3])
# Every --help of a program; between them, all its options.
HELP = {
    "mpiexec": ((),),
    "hawser": ((), ("info",), ("doctor",), ("top",), ("fabric",), ("fabric", "up"), ("fabric", "watch"), ("fabric", "topology"),
               ("fabric", "run"), ("sim", "run"), ("sim", "campaign"), ("sim", "exec"), ("tune",)),
}
# Builds with a sanitizer have no `hawser sim exec`.
WITHOUT_EXEC = not (PROGRAMS / "hawser-exec").exists()
if WITHOUT_EXEC:
    HELP["hawser"] = tuple(words for words in HELP["hawser"] if words != ("sim", "exec"))
# An option where a word begins; not the dash inside one, nor a negative number.
OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]*)")
# Told of in passing: the other way to write an option, an option of another program, and names of topologies.
MENTIONED = {"mpiexec": {"-hosts", "--knobs"}, "hawser": {"-to-back", "-switch", "-N"}}


def told_by(program, words):
    done = subprocess.run([PROGRAMS / program, *words, "--help"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, (program, words, done)
    return done.stdout


def options_of(program):
    text = "\n".join(told_by(program, words) for words in HELP[program])
    return set(OPTION.findall(text)) - MENTIONED[program]


def page(program):
    return (PAGES / f"{program}.1").read_text(encoding="utf-8")


def options_in_page(program):
    text = page(program)
    found = {"--" + name for name in re.findall(r"\bFl Fl ([A-Za-z][\w-]*)", text)}
    return found | {"-" + name for name in re.findall(r"(?<!Fl )\bFl (?!Fl\b)([A-Za-z][\w-]*)", text)}


class Manual(unittest.TestCase):
    def test_every_option_is_in_its_page(self):
        for program in HELP:
            told = options_of(program)
            self.assertGreater(len(told), 10, program)
            self.assertEqual(told - options_in_page(program), set(), f"missing in {program}.1")

    @unittest.skipIf(WITHOUT_EXEC, "this build has no hawser sim exec")
    def test_no_page_has_an_option_that_is_not_there(self):
        for program in HELP:
            self.assertEqual(options_in_page(program) - options_of(program) - {"-V", "--version"}, set(), f"{program}.1")

    def test_options_of_the_compiler_wrappers(self):
        """Those that the wrapper takes for itself; it hands --help on to the compiler."""
        wrapper = (PAGES.parent.parent / "src/binding/wrapper/mpicc.in").read_text(encoding="utf-8")
        cases = wrapper[wrapper.index("case $argument in"):wrapper.index("    *) set --")]
        labels = [label for line in re.findall(r"^    (-[^)]*)\)", cases, re.M) for label in line.split(" | ")]
        own = {label.split("=")[0] for label in labels} | {"-fallow-argument-mismatch", "-fdefault-integer-8", "-i8"}
        text = page("mpicc")
        found = {"-" + name for name in re.findall(r"(?<!Fl )\bFl (?!Wl)([A-Za-z][\w:-]*)", text)}
        found |= {"-" + name for name in re.search(r"\.Fl c , (.*)", text).group(1).split(" , ")}
        self.assertEqual(found, own)

    def test_every_wrapper_has_a_page(self):
        heading = page("mpicc").split(".Nd")[0]
        for program in ("mpicc", "mpicxx", "mpic++", "mpifort", "mpif90", "mpif77"):
            self.assertTrue((PROGRAMS / program).exists(), program)
            self.assertRegex(heading, rf"(?m)^\.Nm {re.escape(program)}( ,)?$")

    def test_every_fault_is_in_the_page(self):
        """The list of faults is that of the fabric room's header."""
        header = (PAGES.parent.parent / "src/fabric/fault/fault.h").read_text(encoding="utf-8")
        grammar = re.findall(r"^//   (link|switch|adapter|qp|acks|payload|gid|lid|tables|sm) (.*?)(?:  |$)", header, re.M)
        self.assertGreater(len(grammar), 10)
        faults = page("hawser")[page("hawser").index(".Sh FAULTS"):]
        for kind, rest in grammar:
            lines = [line for line in faults.splitlines() if line.startswith(f".It Cm {kind} ")]
            self.assertTrue(lines, kind)
            for word in re.findall(r"(?<![\w%])[a-z]{2,}(?![\w%/])", rest.split("0.")[0]):
                self.assertTrue(any(re.search(rf"\b{word}\b", line) for line in lines) or word in ("us", "any", "all"), (kind, word))

    @needs("mandoc")
    def test_pages_are_well_formed(self):
        for program in PAGES.glob("*.1"):
            done = subprocess.run(["mandoc", "-Tlint", program], capture_output=True, text=True, check=False)
            complaints = [line for line in done.stdout.splitlines() if "makewhatis" not in line and ".Xr" not in line
                          and "referenced manual not found" not in line]
            self.assertEqual(complaints, [])


if __name__ == "__main__":
    main(*sys.argv[3:])
