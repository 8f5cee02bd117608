"""What the reports of rails share: programs of bench/, a stream and its gaps, rows of figures beside their criteria."""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "bench/rails"
sys.path.append(str(ROOT / "python"))
from hawser_lab import PATIENCE, Failed, monotonic, processes  # noqa: E402, F401
from hawser_lab.testbed import Logs, Testbed  # noqa: E402, F401


def load():
    return os.getloadavg()[0]


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values):
    return statistics.median(values)


class Report:
    """Rows of figures with their criteria; remembers what was missed, and for --json what it was made from."""

    def __init__(self):
        self.missed = []
        self.rows = []
        self.data = {}
        self.title = ""

    def keep(self, name, value):
        """One more measurement under a name, for who draws it."""
        self.data.setdefault(name, []).append(value)

    def row(self, label, figure, criterion="", good=None):
        verdict = "" if good is None else "ok" if good else "MISSED"
        self.rows.append({"head": self.title, "label": label.strip(), "figure": figure, "criterion": criterion, "good": good})
        if good is False:
            self.missed.append(label)
        print(f"  {label:<54} {figure:>26}   {criterion:<24} {verdict}".rstrip(), flush=True)

    def head(self, text):
        self.title = text
        print(f"{text}  (load {load():.1f})", flush=True)


def stream_program(testbed, compiler=None):
    return testbed.program("stream", HERE / "stream.c", compiler=compiler)


def mpibench(testbed, compiler=None):
    return testbed.program("mpibench", *sorted((ROOT / "bench/mpi").glob("*.c")), compiler=compiler)


class Stream:
    """A running stream.c; `end` returns its gaps and its bins."""

    def __init__(self, fabric, bytes_, window, gap_us=1000, variables=None, puts=False):
        testbed = fabric.testbed
        folder = pathlib.Path(tempfile.mkdtemp(dir=testbed.folder))
        self.testbed = testbed
        self.logs = Logs(folder, 2)
        self.job = fabric.mpiexec(2, stream_program(testbed), bytes_, window, gap_us,
                                  *(["put"] if puts else []), stdin=subprocess.PIPE,
                                  variables={"HAWSER_EVENT_LOG": self.logs.pattern, **(variables or {})})
        processes.expect_line(self.job, "running")

    def end(self):
        self.job.stdin.close()
        self.job.stdin = None
        output = self.testbed.finish(self.job)
        self.logs.read()
        gaps = [(int(a), int(b)) for a, b in re.findall(r"^gap (\d+) (\d+)$", output, re.M)]
        bins = [(int(a), int(b)) for a, b in re.findall(r"^bin (\d+) (\d+)$", output, re.M)]
        return gaps, bins
