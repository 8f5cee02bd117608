"""Runs HPCC on a virtual fabric while a plan takes parts of it down, and keeps what was seen: its output, the fabric's record,
the ranks' event logs."""
import os
import pathlib
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python"))
from hawser_lab import Failed, monotonic, open_mpi  # noqa: E402
import outcome  # noqa: E402

HOSTS, RAILS, RATE = 4, 2, "100MB/s"
FABRIC = ("two-switch", "--hosts", str(HOSTS), "--rails", str(RAILS), "--rate", RATE)
SECOND = 1_000_000_000  # ns


def hpccinf(size, ranks):
    """HPCC's input: the lines that it reads, with what we choose. PTRANS, FFT and RandomAccess take their sizes from HPL's."""
    rows = {1: 1, 2: 2, 4: 2, 8: 2}[ranks]
    lines = ["HPLinpack benchmark input file", "", "HPL.out", "8 device out", "1 # of problem sizes", f"{size} N", "1 # of NBs",
             "80 NB", "0 row-major", "1 # of grids", f"{rows} P", f"{ranks // rows} Q", f"{outcome.THRESHOLD} threshold", "1",
             "2 PFACT right", "1", "4 NBMIN", "1", "2 NDIV", "1", "1 RFACT Crout", "1", "1 BCAST 1ring modified", "1", "1 DEPTH",
             "2 SWAP mix", "64 swapping threshold", "0 L1 transposed", "0 U transposed", "1 equilibration", "8 alignment", "",
             "0 more sizes for PTRANS", "1200", "0 more blocks for PTRANS", "40"]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Step:
    """Of a plan: a fault so many seconds after the beginning of a section of HPCC, or of the job where there is none."""
    section: str
    after: float
    fault: str


@dataclass
class Run:
    """What one run was."""
    folder: pathlib.Path
    began: int = 0  # ns, monotonic clock
    ended: int = 0
    code: int = 0
    timed_out: bool = False
    output: str = ""  # of mpiexec and the ranks
    sections: list = field(default_factory=list)  # (name, begin, end or None), ns
    faults: list = field(default_factory=list)  # (ns, text), as the fabric logged them
    lag: str = ""

    @property
    def seconds(self):
        return (self.ended - self.began) / SECOND

    def report(self):
        """hpccoutf.txt, as far as it came."""
        path = self.folder / "hpccoutf.txt"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def record(self):
        return self.folder / "links.jsonl"

    def event_logs(self):
        return sorted(self.folder.glob("events.*"))

    def since(self, at):
        return (at - self.began) / SECOND


class Progress:
    """Follows hpccoutf.txt, injects the plan's steps when they are due, and says what happens."""

    def __init__(self, run, fabric, plan, say):
        self.run, self.fabric, self.say = run, fabric, say
        self.waiting = list(plan)
        self.due = []  # (ns, Step)

    def look(self):
        begun, over = outcome.sections_seen(self.run.report())
        now = monotonic()
        for name in begun[len(self.run.sections):]:
            self.run.sections.append((name, now, None))
            self.say(f"{self.run.since(now):7.1f} s  {name}")
            self.arm(name, now)
        for i, (name, begin, end_) in enumerate(self.run.sections[:len(over)]):
            self.run.sections[i] = (name, begin, end_ or now)

    def arm(self, section, now):
        self.due += [(now + int(step.after * SECOND), step) for step in self.waiting if step.section == section]
        self.waiting = [step for step in self.waiting if step.section != section]

    def inject(self):
        now = monotonic()
        for at, step in sorted(self.due, key=lambda item: item[0]):
            if at > now:
                break
            self.due.remove((at, step))
            self.fabric.ask("fault", step.fault)
            self.say(f"{self.run.since(now):7.1f} s      {step.fault}")


def run_hpcc(testbed, folder, command, *, size, ranks=4, plan=(), schedule="", limit=900, say=print, variables=None):
    """One run of `command(fabric)` in `folder`. `schedule` is of time alone and given to the fabric at the start."""
    run = Run(folder)
    (folder / "hpccinf.txt").write_text(hpccinf(size, ranks), encoding="ascii")
    with testbed.fabric(*FABRIC) as fabric:
        watch = testbed.popen(fabric.recording(run.record(), "100ms"))
        with open(folder / "output", "w", encoding="utf-8") as output:
            run.began = monotonic()
            if schedule:
                (folder / "schedule").write_text(schedule, encoding="ascii")
                fabric.ask("schedule", str(folder / "schedule"))
            job = testbed.popen(command(fabric), stdout=output, cwd=folder, start_new_session=True,
                                env={**os.environ, "HAWSER_EVENT_LOG": str(folder / "events.%r"), **(variables or {})})
            try:
                follow(run, job, Progress(run, fabric, plan, say), limit)
            finally:
                end(job)
        run.lag = fabric.lag()
        watch.send_signal(signal.SIGTERM)
        testbed.finish(watch)
    run.output = (folder / "output").read_text(encoding="utf-8", errors="replace")
    return run


def follow(run, job, progress, limit):
    progress.arm("", run.began)
    while True:
        run.code = job.poll()
        run.ended = monotonic()
        progress.look()
        if run.code is not None:
            return
        if run.ended - run.began > limit * SECOND:
            run.timed_out = True
            return
        progress.inject()
        time.sleep(0.02)


def end(job):
    """The job and what it started: it leads a session of its own."""
    if job.poll() is None:
        os.killpg(job.pid, signal.SIGTERM)
        try:
            job.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()


def our_command(testbed, program, ranks):
    def command(fabric):
        return [testbed.bin / "mpiexec", "-n", ranks, "--fabric", fabric.name, program]
    return command


OPEN_MPI = {"openib": open_mpi.OPENIB, "UCX rc_v": open_mpi.ucx("rc_v")}


def open_mpi_command(testbed, program, ranks, transport):
    def command(fabric):
        hosts = [f"n{host}" for host in range(HOSTS)]
        return open_mpi.mpirun(fabric, testbed.folder, hosts, ranks, OPEN_MPI[transport], program)
    return command


def build(compiler, name):
    """HPCC built with this compiler, once."""
    done = subprocess.run([pathlib.Path(__file__).parent / "build", str(compiler), name], stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        raise Failed("HPCC cannot be built")
    return done.stdout.strip()


def end_when_told():
    """Interrupted or told to end: by an exception, so that jobs and fabrics go, too."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _: sys.exit(128 + got))
