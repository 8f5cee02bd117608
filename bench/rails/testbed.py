"""What the reports of rails share: programs built, a fabric that is gone afterwards, jobs on it, event logs, tables."""
import contextlib
import os
import pathlib
import re
import select
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "bench/rails"
PATIENCE = 120  # seconds; only a hang takes so long


class Failed(Exception):
    """Something did not work; a measurement that misses its criterion is not that."""


def monotonic():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def load():
    return os.getloadavg()[0]


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values):
    return statistics.median(values)


def take_precedence(process):
    """Before the other sessions of this machine: comes near to a quiet machine. Needs root."""
    try:
        pathlib.Path(f"/proc/{process}/autogroup").write_text("-20", encoding="ascii")
    except OSError as problem:
        raise Failed(f"no precedence to be had: {problem}") from None


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


class Testbed:
    """A build, a scratch folder, and what was started: all of it ends with the `with`."""

    def __init__(self, build, precedence=False):
        self.bin = pathlib.Path(build).resolve() / "bin"
        if not (self.bin / "mpiexec").exists():
            raise Failed(f"nothing is built in {self.bin.parent} (targets hawser, hawser-fabricd, mpiexec, mpi_abi)")
        self.started = []
        self.fabrics = 0
        self.programs = {}
        self.wrapper = []  # words before every program of a job
        self.precedence = precedence
        if precedence:
            if os.getsid(0) != os.getpid():
                with contextlib.suppress(PermissionError):  # a group's leader cannot, and has a group of its own
                    os.setsid()
            take_precedence("self")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hawser-rails-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    def program(self, name, *sources, compiler=None):
        """A program of bench/ built by an MPI's compiler, once."""
        compiler = compiler or str(self.bin / "mpicc")
        key = f"{name}-{pathlib.Path(compiler).name}"
        if key not in self.programs:
            self.programs[key] = str(self.folder / key)
            subprocess.run([compiler, "-O2", "-w", "-o", self.programs[key], *map(str, sources)], check=True)
        return self.programs[key]

    def stream(self):
        return self.program("stream", HERE / "stream.c")

    def mpibench(self, compiler=None):
        return self.program("mpibench", *sorted((ROOT / "bench/mpi").glob("*.c")), compiler=compiler)

    def popen(self, command, **how):
        process = subprocess.Popen([str(word) for word in command],
                                   **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **how})
        self.started.append(process)
        return process

    def finish(self, process, patience=PATIENCE):
        try:
            output, _ = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(process.args)} hangs") from None
        if process.returncode != 0:
            raise Failed(f"{' '.join(process.args)}: exit code {process.returncode}\n{output}")
        return output

    @contextlib.contextmanager
    def fabric(self, *what):
        self.fabrics += 1
        fabric = Fabric(self, f"rails-{os.getpid()}-{self.fabrics}")
        fabric.ask("up", *what)
        try:
            if self.precedence:
                take_precedence(fabric.daemon())
            yield fabric
        finally:
            with contextlib.suppress(Failed):
                fabric.ask("down")


class Fabric:
    def __init__(self, testbed, name):
        self.testbed = testbed
        self.name = name
        self.injected = []  # (before, after) of each fault, our clock

    def ask(self, verb, *words):
        command = [self.testbed.bin / "hawser", "fabric", verb, *words, "--name", self.name]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode != 0:
            raise Failed(f"hawser fabric {verb} {' '.join(words)}: {done.stderr}")
        return done.stdout

    def fault(self, text):
        """The fault's place in the fabric's log."""
        before = monotonic()
        self.ask("fault", text)
        self.injected.append((before, monotonic()))
        return len(self.injected) - 1

    def fault_times(self):
        """When each fault took effect, and how exactly that is known, in ns. The log is in the fabric's own time; each
        fault took effect while we waited for it, which tells where that time begins."""
        logged = [round(float(m) * 1e9) for m in re.findall(r"^(\d+\.\d+) (?:link|switch|adapter|qp)\b.*$",
                                                            self.ask("status"), re.M)]
        if len(logged) != len(self.injected):
            raise Failed(f"{len(self.injected)} faults, but the fabric's log has {len(logged)}")
        earliest = max(before - at for (before, _), at in zip(self.injected, logged))
        latest = min(after - at for (_, after), at in zip(self.injected, logged))
        # The log has microseconds.
        return [at + (earliest + latest) // 2 for at in logged], max(0, latest - earliest) // 2 + 1000

    def daemon(self):
        """The number of the fabric's process, by its command line."""
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = entry.read_bytes().decode(errors="replace").split("\0")
                if words[0].endswith("hawser-fabricd") and self.name in words:
                    return entry.parent.name
        raise Failed(f"no process of fabric {self.name} is found")

    def lag(self):
        found = re.search(r"lag behind real time: (.*)", self.ask("status"))
        return found.group(1) if found else ""

    def run_on(self, host, *command):
        return self.testbed.popen([self.testbed.bin / "hawser", "fabric", "run", "--name", self.name, "--host", host, "--",
                                   *command])

    def mpiexec(self, ranks, *command, ppn=None, variables=None, **how):
        words = [self.testbed.bin / "mpiexec", "-n", ranks, "--fabric", self.name]
        words += ["-ppn", ppn] if ppn else []
        return self.testbed.popen([*words, *self.testbed.wrapper, *command],
                                  env={**os.environ, "HAWSER_NETWORK": "rails", **(variables or {})}, **how)


class Logs:
    """The ranks' event logs, read as they grow."""
    LINE = re.compile(r"(\d+)\.(\d{9}) rank=(\d+)(.*)")

    def __init__(self, folder, ranks):
        self.paths = [folder / f"events.{rank}" for rank in range(ranks)]
        self.pattern = str(folder / "events.%r")
        self.offsets = [0] * ranks
        self.events = [[] for _ in range(ranks)]  # (ns, {key: value})

    def read(self):
        for rank, path in enumerate(self.paths):
            if not path.exists():
                continue
            with open(path, "rb") as file:
                file.seek(self.offsets[rank])
                data = file.read()
            data = data[:data.rfind(b"\n") + 1]
            self.offsets[rank] += len(data)
            for seconds, part, _, rest in self.LINE.findall(data.decode()):
                self.events[rank].append((int(seconds) * 10**9 + int(part), dict(re.findall(r"(\w+)=(\S+)", rest))))
        return self.events

    def conditions(self, rank):
        """The last known condition of each port of the rank."""
        return {facts["port"]: facts["condition"] for _, facts in self.events[rank] if "condition" in facts}

    def wait(self, what, patience):
        end = time.monotonic() + patience
        while not what(self.read()):
            if time.monotonic() > end:
                return False
            time.sleep(0.002)
        return True

    def all_ready(self, rails, patience=60):
        def ready(_):
            found = [self.conditions(rank) for rank in range(len(self.paths))]
            return all(len(each) == rails and set(each.values()) <= {"ready", "suspect"} for each in found)
        return self.wait(ready, patience)


class Stream:
    """A running stream.c; `end` returns its gaps and its bins."""

    def __init__(self, fabric, bytes_, window, gap_us=1000, variables=None):
        testbed = fabric.testbed
        folder = pathlib.Path(tempfile.mkdtemp(dir=testbed.folder))
        self.testbed = testbed
        self.logs = Logs(folder, 2)
        self.job = fabric.mpiexec(2, testbed.stream(), bytes_, window, gap_us, stdin=subprocess.PIPE,
                                  variables={"HAWSER_EVENT_LOG": self.logs.pattern, **(variables or {})})
        ready, _, _ = select.select([self.job.stdout], [], [], PATIENCE)
        line = self.job.stdout.readline() if ready else ""
        if line != "running\n":
            raise Failed(f"the stream does not start: {line}")

    def end(self):
        self.job.stdin.close()
        self.job.stdin = None
        output = self.testbed.finish(self.job)
        self.logs.read()
        gaps = [(int(a), int(b)) for a, b in re.findall(r"^gap (\d+) (\d+)$", output, re.M)]
        bins = [(int(a), int(b)) for a, b in re.findall(r"^bin (\d+) (\d+)$", output, re.M)]
        return gaps, bins
