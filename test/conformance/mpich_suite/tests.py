"""The suite's lists of tests, and the list of failures that are expected here.

A line of a list is `program ranks option=value...`, or the name of a directory with a list of its own.
"""
import fnmatch
import re
from dataclasses import dataclass, field

RANKS = 2          # of a line that does not say
TIME_LIMIT = 180   # seconds, likewise


@dataclass
class Test:
    """One line of a list. `check` is how its result is judged: by its output, or by an exit code that is not 0."""
    directory: str
    program: str
    ranks: int = RANKS
    arguments: list = field(default_factory=list)
    variables: list = field(default_factory=list)
    launcher: list = field(default_factory=list)
    seconds: int = TIME_LIMIT
    gigabytes: float = 0.0
    check: str = "output"
    ticket: str = ""   # the suite itself expects a failure of MPICH

    @property
    def name(self):
        return " ".join([f"{self.directory}/{self.program}:{self.ranks}", *self.arguments, *self.variables])


CHECKS = {"TestStatus": "exit", "TestErrFatal": "exit", "TestStatusNoErrors": "both"}


def parse(directory, words):
    test = Test(directory, words[0])
    options = words[1:]
    if options and options[0].isdigit():
        test.ranks = int(options.pop(0))
    for option in options:
        key, equals, value = option.partition("=")
        if not equals:
            continue  # the suite's own reader passes over such words too
        if key == "arg":
            test.arguments.append(value)
        elif key == "env":
            test.variables.append(value)
        elif key == "mpiexecarg":
            test.launcher.append(value)
        elif key == "timeLimit":
            test.seconds = int(value)
        elif key == "mem":
            test.gigabytes = float(value)
        elif key == "resultTest":
            test.check = CHECKS[value]
        elif key == "xfail":
            test.ticket = value
        elif key not in ("strict", "mpix", "mpiversion", "lock", "init"):
            raise ValueError(f"{directory}: unknown option '{option}'")
    return test


def collect(programs, directory):
    """All tests of a directory and of those that its lists name."""
    tests = []
    for path in programs.lists(directory):
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.partition("#")[0].split()
            if not words:
                continue
            if (programs.suite / directory / words[0]).is_dir():
                tests += collect(programs, f"{directory}/{words[0]}")
            else:
                tests.append(parse(directory, words))
    return tests


class Expected:
    """Lines `where  pattern of the test's name  reason`, columns two or more spaces apart; `where` are words that must
    all be of this run (ours, peer, standard, mpich, memory, rails, flapping)."""

    def __init__(self, path, words):
        self.lines = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            columns = re.split(r"\s{2,}", line, maxsplit=2)
            if len(columns) != 3:
                raise ValueError(f"{path}:{number}: not three columns")
            if set(columns[0].split("+")) <= words:
                self.lines.append((columns[1], columns[2]))

    def reason(self, name):
        """Why this test may fail, or None."""
        for pattern, reason in self.lines:
            # Without fnmatch's classes: names have brackets of their own.
            if fnmatch.fnmatchcase(name, pattern.replace("[", "[[]")):
                return reason
        return None
