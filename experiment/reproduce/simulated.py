"""Runs of MPI programs in the simulator, and the CSV that keeps their results."""
import concurrent.futures
import csv
import os
import pathlib
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
# Data move in pieces no larger than packets, so that requests wait behind no more.
PACKETS = "chunk 4K\n"


@dataclass(frozen=True)
class Cluster:
    """A simulated cluster. `parameters` are lines of a file of parameters of the fabric (`hawser fabric --help`)."""

    rate: str
    latency: str = "300ns"
    rails: int = 1
    fabric: str = "fat-tree-144"
    parameters: str = PACKETS
    options: tuple = ()  # more of `hawser sim exec`


def checked(command, variables=None, directory=None):
    done = subprocess.run([str(word) for word in command], env={**os.environ, **(variables or {})}, cwd=directory,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} with {variables} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def simulate(build, cluster, ranks, program, *arguments, per_node=1, variables=None, options=()):
    """What the program prints. Computing takes no time except what the program's calls of MPI_Wtime wait for."""
    with tempfile.TemporaryDirectory(prefix="hawser-experiment-") as folder:
        parameters = pathlib.Path(folder) / "parameters"
        parameters.write_text(cluster.parameters, encoding="ascii")
        return checked([build / "bin/hawser", "sim", "exec", "-n", ranks, "--ppn", per_node, "--fabric", cluster.fabric,
                        "--rails", cluster.rails, "--rate", cluster.rate, "--latency", cluster.latency, "--parameters", parameters,
                        "--compute-scale", "0", "--quiet", *cluster.options, *options, program, *arguments], variables)


def by_size(text):
    """{bytes: figure} of what bench/mpi prints."""
    lines = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {int(words[0]): float(words[1]) for words in lines}


def compiled(build, sources, folder):
    """The program's path. `sources` are C files."""
    program = pathlib.Path(folder) / pathlib.Path(sources[0]).stem
    checked([build / "bin/mpicc", "-O2", "-o", program, *sources, "-lm"])
    return program


def micro_benchmarks(build, folder):
    """The micro-benchmarks of bench/mpi as one program."""
    return compiled(build, [BENCH / "mpi/main.c", *sorted(set((BENCH / "mpi").glob("*.c")) - {BENCH / "mpi/main.c"})], folder)


@dataclass
class Results:
    """Rows of one CSV: columns that say what was run, then columns of figures."""

    file: pathlib.Path
    keys: tuple
    figures: tuple
    rows: list = field(default_factory=list)

    def __post_init__(self):
        if self.file.exists():
            with open(self.file, newline="", encoding="utf-8") as file:
                self.rows = list(csv.DictReader(file))

    def find(self, **where):
        wanted = {name: str(value) for name, value in where.items()}
        return [row for row in self.rows if all(row[name] == value for name, value in wanted.items())]

    def curve(self, x, figure=None, **where):
        """{x: figure} of the rows that have these values."""
        figure = figure or self.figures[0]
        return {float(row[x]): float(row[figure]) for row in self.find(**where)}

    def value(self, figure=None, **where):
        found = self.find(**where)
        if len(found) != 1:
            raise SystemExit(f"{self.file}: {len(found)} rows with {where}; run the experiment with --build first")
        return float(found[0][figure or self.figures[0]])

    def replace(self, run, columns, rows):
        """Rows of one run in place of those that are there."""
        self.rows = [row for row in self.rows if any(row[name] != str(run[name]) for name in columns)]
        self.rows += [{name: str({**run, **row}[name]) for name in (*self.keys, *self.figures)} for row in rows]

    def write(self, order):
        """`order` gives a row's place."""
        self.rows.sort(key=order)
        unfinished = self.file.with_suffix(".unfinished")
        with open(unfinished, "w", newline="", encoding="utf-8") as file:
            out = csv.DictWriter(file, (*self.keys, *self.figures), lineterminator="\n")
            out.writeheader()
            out.writerows(self.rows)
        unfinished.replace(self.file)


class Memory:
    """Lets runs begin as long as all of them fit in three quarters of the machine's memory; one that is alone always may."""

    def __init__(self):
        self.left = 0.75e-9 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        self.running = 0
        self.changed = threading.Condition()

    def call(self, gigabytes, one, *arguments):
        with self.changed:
            self.changed.wait_for(lambda: gigabytes <= self.left or self.running == 0)
            self.left -= gigabytes
            self.running += 1
        try:
            return one(*arguments)
        finally:
            with self.changed:
                self.left += gigabytes
                self.running -= 1
                self.changed.notify_all()


def measure(results, runs, columns, wanted, one, jobs, gigabytes=lambda run: 0):
    """Calls `one(run)` for every wanted run, a dict of `columns`, and keeps the rows that it returns; in the order of `runs`.
    `gigabytes(run)` says how much memory a run needs."""
    places = {tuple(str(run[name]) for name in columns): place for place, run in enumerate(runs)}
    memory = Memory()

    def order(row):
        return places.get(tuple(row[name] for name in columns), len(places))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(memory.call, gigabytes(run), one, run): run for run in wanted}
        try:
            for done in concurrent.futures.as_completed(waiting):
                results.replace(waiting[done], columns, done.result())
                results.write(order)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
