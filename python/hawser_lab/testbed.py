"""A build, a scratch folder, and what is started of it: programs, fabrics, jobs. All of it ends with the `with`."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from . import fabric, processes
from .processes import PATIENCE, Failed


def take_precedence(process):
    """Before the other sessions of this machine: comes near to a quiet machine. Needs root."""
    try:
        pathlib.Path(f"/proc/{process}/autogroup").write_text("-20", encoding="ascii")
    except OSError as problem:
        raise Failed(f"no precedence to be had: {problem}") from None


class Testbed:
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
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hawser-lab-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        processes.end_all(self.started)
        shutil.rmtree(self.folder, ignore_errors=True)

    def program(self, name, *sources, compiler=None):
        """A program built by an MPI's compiler, once."""
        compiler = compiler or str(self.bin / "mpicc")
        key = f"{name}-{pathlib.Path(compiler).name}"
        if key not in self.programs:
            self.programs[key] = str(self.folder / key)
            subprocess.run([compiler, "-O2", "-w", "-o", self.programs[key], *map(str, sources)], check=True)
        return self.programs[key]

    def popen(self, command, **how):
        process = processes.start(command, **how)
        self.started.append(process)
        return process

    def finish(self, process, patience=PATIENCE):
        return processes.finish(process, patience)

    @contextlib.contextmanager
    def fabric(self, *what):
        self.fabrics += 1
        with Fabric(self, f"lab-{os.getpid()}-{self.fabrics}", *what) as one:
            if self.precedence:
                take_precedence(one.daemon())
            yield one


class Fabric(fabric.Fabric):
    """One of a testbed's, which starts programs on it and ends them."""

    def __init__(self, testbed, name, *what):
        super().__init__(testbed.bin / "hawser", name, *what)
        self.testbed = testbed

    def run_on(self, host, *program):
        return self.testbed.popen(self.on_host(host, *program))

    def mpiexec(self, ranks, *program, ppn=None, variables=None, **how):
        words = [self.testbed.bin / "mpiexec", "-n", ranks, "--fabric", self.name]
        words += ["-ppn", ppn] if ppn else []
        return self.testbed.popen([*words, *self.testbed.wrapper, *program],
                                  env={**os.environ, "HAWSER_NETWORK": "rails", **(variables or {})}, **how)


class Logs:
    """The ranks' event logs (HAWSER_EVENT_LOG), read as they grow."""
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
