"""report.py timeline: what the rails carry while a cable is pulled and comes back; also under Open MPI."""
import re
import signal
import subprocess
import time

from faults import TWO_RAILS
from speed import OPENIB, UCX, open_mpi_job
from shared import Failed, Stream, stream_program
from hawser_lab import processes
from hawser_lab.open_mpi import errors
from hawser_lab.record import MB, read_record


LIBRARIES = ("hawser", "openib", "ucx")
LABELS = {"hawser": "Hawser", "openib": "Open MPI (openib)", "ucx": "Open MPI (UCX rc_v)"}
BYTES, WINDOW = 256 * 1024, 16
BIN = 0.05  # seconds
CABLE = "link n1/hw0"  # of the receiver
LEAVE = 20  # seconds for a peer to end after its stream


class PeerStream:
    """stream.c under Open MPI, of which nothing is expected."""

    def __init__(self, fabric, transport):
        program = stream_program(fabric.testbed, compiler="mpicc.openmpi")
        self.job = open_mpi_job(
            fabric, transport, program, BYTES, WINDOW, stdin=subprocess.PIPE, start_new_session=True
        )
        processes.expect_line(self.job, "running")

    def end(self):
        """(gaps or None where it did not end well, what was wrong)."""
        try:
            output, _ = self.job.communicate(timeout=LEAVE)
        except subprocess.TimeoutExpired:
            self.job.send_signal(signal.SIGTERM)
            try:
                output, _ = self.job.communicate(timeout=LEAVE)
            except subprocess.TimeoutExpired:
                self.job.kill()
                output, _ = self.job.communicate()
            return None, "; ".join([f"did not end within {LEAVE} s", *errors(output, 2)])
        if self.job.returncode != 0:
            return None, "; ".join([f"exit code {self.job.returncode}", *errors(output, 2)])
        return [(int(a), int(b)) for a, b in re.findall(r"^gap (\d+) (\d+)$", output, re.M)], ""


class OurStream(Stream):
    def __init__(self, fabric):
        super().__init__(fabric, BYTES, WINDOW)
        if not self.logs.all_ready(2):
            raise Failed("the rails do not become ready")

    def end(self):
        return super().end()[0], ""


def start(fabric, library):
    if library == "hawser":
        return OurStream(fabric)
    return PeerStream(fabric, {"openib": OPENIB, "ucx": UCX}[library])


def one_run(testbed, library, seconds):
    with testbed.fabric(*TWO_RAILS) as fabric:
        file = testbed.folder / f"{fabric.name}.jsonl"
        watch = testbed.popen(fabric.recording(file, f"{BIN}s"))
        stream = start(fabric, library)
        time.sleep(1 + seconds)
        fabric.fault(f"{CABLE} down")
        time.sleep(seconds)
        fabric.fault(f"{CABLE} up")
        time.sleep(seconds)
        gaps, wrong = stream.end()
        (down, up), _ = fabric.fault_times()
        watch.send_signal(signal.SIGTERM)
        testbed.finish(watch)
    record = read_record(file)
    down_at, up_at = (
        next(at for at, text in record.faults if text.endswith(what)) for what in ("down", "up")
    )
    bins = record.bins(down_at - seconds, up_at + seconds, BIN)
    pause = None if gaps is None else max((b - a for a, b in gaps if b > down and a < up), default=0) / 1e6
    return {
        "library": library,
        "label": LABELS[library],
        "bin_s": BIN,
        "down_s": seconds,
        "up_s": seconds + up_at - down_at,
        "rates": [[rate / MB for rate in rates] for rates in bins],
        "pause_ms": pause,
        "wrong": wrong,
        "cable": CABLE,
    }


def mean_between(run, begin, end):
    rates = [sum(each) for i, each in enumerate(run["rates"]) if begin <= i * BIN and (i + 1) * BIN <= end]
    return sum(rates) / len(rates) if rates else 0.0


def timeline(options, report, testbed):
    report.head(
        f"stream of {BYTES // 1024} KiB, {WINDOW} under way, 2 rails of 200 MB/s, `{CABLE} down` for"
        f" {options.seconds:.0f} s"
    )
    for library in options.libraries:
        try:
            run = one_run(testbed, library, options.seconds)
        except (Failed, OSError, subprocess.SubprocessError) as problem:
            if library == "hawser":
                raise
            report.row(LABELS[library], "did not run: " + (str(problem).splitlines() or ["?"])[-1][:60])
            continue
        report.keep("timeline", run)
        down, up = run["down_s"], run["up_s"]
        rates = [
            mean_between(run, *span) for span in ((0, down), (down + 0.2, up), (up + 1, up + options.seconds))
        ]
        report.row(
            f"{LABELS[library]}: MB/s before, cable out, back", ", ".join(f"{rate:.0f}" for rate in rates)
        )
        still = "unknown" if run["pause_ms"] is None else f"{run['pause_ms']:.0f} ms"
        report.row(
            "  longest gap from the pull to its return",
            still + (f" ({run['wrong'][:60]})" if run["wrong"] else ""),
        )
