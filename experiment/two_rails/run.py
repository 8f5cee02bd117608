#!/usr/bin/env python3
"""Two rails against one, two-sided and one-sided (V07, chapters 4 and 5).

Micro-benchmarks, collective operations and kernels over one and two rails, on two machines of the paper described as fabrics:
two adapters on PCI-X buses of their own (4.3.1, 5.3.1), and two ports of one adapter on PCI Express (5.3.1). What one rail
reaches there is taken from the paper; what two rails make of it is the result.
"""
import json
import pathlib
import sys
import tempfile
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from reproduce.experiment import Experiment, main  # noqa: E402
from reproduce.simulated import PACKETS, Cluster, by_size, compiled, micro_benchmarks, simulate  # noqa: E402

import pages  # noqa: E402

# A request and a completion take what they take with the library's own work; buffers stay registered.
COSTS = ("--post-cost", "250ns", "--completion-cost", "250ns", "--registration-cost", "0us")
# A link of 884 MB/s is what one adapter reached one way, 943 MB/s what its PCI-X bus moved in both directions together, and
# the latency gives the 6 us of the smallest message (4.3.2). One port of the other machine reached 971 MB/s, and both
# ports 1500 MB/s through one bus (5.3.2); for its latency the paper has no number.
MACHINES = {
    "adapters": ("884MB/s", "2.7us", PACKETS + "bus half bus-rate 943MB/s\n"),
    "ports": ("971MB/s", "2us", PACKETS + "bus-rate 1500MB/s\n"),
}
# The papers' messages are written by their sender.
SETTINGS = {
    "default": {},
    "striping": {"HAWSER_RAIL_POLICY": "even", "HAWSER_RAIL_RENDEZVOUS": "write"},
    "striping by reads": {"HAWSER_RAIL_POLICY": "even"},
    "binding": {"HAWSER_RAIL_POLICY": "binding"},
    "round robin": {"HAWSER_RAIL_POLICY": "round_robin"},
}
SMALL = (1, 4, 16, 64, 256, 1024, 2048, 4096)
LARGE = (2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
FROM_SMALL = (4, 64, 1024, 4096, 8192, 16384, 32768, 65536, 262144, 1048576)
KERNELS = ("is", "ft")


@dataclass(frozen=True)
class Test:
    """`program` is mpibench, exchanges or a kernel."""

    program: str
    name: str
    sizes: tuple = ()
    ranks: int = 2
    per_node: int = 1
    rounds: int = 20


def collective(name, ranks, per_node):
    return Test("mpibench", name, (4, 1024, 4096, 16384, 65536, 262144, 1048576), ranks, per_node, 5)


TESTS = {
    "latency": Test("mpibench", "latency", FROM_SMALL),
    "small one way": Test("mpibench", "bw", SMALL, rounds=40),
    "one way": Test("mpibench", "bw", LARGE),
    "both ways": Test("mpibench", "bibw", LARGE),
    "pairs one way": Test("exchanges", "pairs_one_way", LARGE, 4, 2, 5),
    "pairs both ways": Test("exchanges", "pairs_both_ways", LARGE, 4, 2, 5),
    "broadcast, 8": collective("bcast", 8, 1),
    "broadcast, 16": collective("bcast", 16, 2),
    "all-to-all, 8": collective("alltoall", 8, 1),
    "all-to-all, 16": collective("alltoall", 16, 2),
    **{f"{kernel}, {ranks}": Test(kernel, "a", (), ranks, ranks // 8) for kernel in KERNELS for ranks in (8, 16)},
    "put": Test("mpibench", "rma_put", FROM_SMALL),
    "get": Test("mpibench", "rma_get", FROM_SMALL),
    "put one way": Test("mpibench", "rma_put_bw", LARGE),
    "get one way": Test("mpibench", "rma_get_bw", LARGE),
    "put both ways": Test("exchanges", "put_both_ways", LARGE),
    "reordered": Test("exchanges", "puts_gets", LARGE),
    "ordered": Test("exchanges", "puts_then_gets", LARGE),
    "turns": Test("mpibench", "rma_mixed_bw", LARGE),
}
ONE_SIDED = ("put", "get", "put one way", "get one way", "put both ways", "reordered", "ordered", "turns")
# Of two rails, beside the default.
MORE = {
    "latency": ("striping",),
    "small one way": ("round robin", "binding"),
    "one way": ("striping", "striping by reads"),
    "both ways": ("striping", "striping by reads"),
    "pairs one way": ("striping", "binding"),
    "pairs both ways": ("striping", "binding"),
    **{name: ("striping",) for name in TESTS if "," in name},
}


class TwoRails(Experiment):
    name, title = "two_rails", "Two rails against one"
    of_a_run = ("machine", "test", "rails", "setting")
    keys = (*of_a_run, "bytes")
    figures = ("figure", "late")  # late: packets in a hundred that had to wait for an earlier one

    def runs(self):
        for machine in MACHINES:
            for test in TESTS if machine == "adapters" else ONE_SIDED:
                for rails, setting in ((1, "default"), (2, "default"), *((2, name) for name in MORE.get(test, ()))):
                    yield {"machine": machine, "test": test, "rails": rails, "setting": setting}

    def compile(self, build, folder):
        kernels = HERE.parent / "kernels"
        return {"mpibench": micro_benchmarks(build, folder), "exchanges": compiled(build, [HERE / "exchanges.c"], folder),
                **{name: compiled(build, [kernels / f"{name}.c"], folder) for name in KERNELS}}

    def run(self, build, program, run):
        test, (rate, latency, parameters) = TESTS[run["test"]], MACHINES[run["machine"]]
        ports = ("--ports", run["rails"]) if run["machine"] == "ports" else ()
        cluster = Cluster(rate, latency, 1 if ports else run["rails"], "single-switch", parameters,
                          (*COSTS, *ports, "--hosts", test.ranks // test.per_node))
        with tempfile.TemporaryDirectory(prefix="hawser-experiment-") as folder:
            report = pathlib.Path(folder) / "report.json"
            text = simulate(build, cluster, test.ranks, program[test.program], *arguments_of(test), per_node=test.per_node,
                            variables=SETTINGS[run["setting"]], options=("--json", report))
            rails = json.loads(report.read_text(encoding="utf-8"))["rails"]
        late = round(100 * rails["out_of_order"] / max(1, rails["packets_received"]), 3)
        figures = by_size(text) if test.sizes else {0: float(text)}
        return [{"bytes": size, "figure": figure, "late": late} for size, figure in figures.items()]

    def curve(self, test, rails, setting="default", machine="adapters"):
        return self.results.curve("bytes", machine=machine, test=test, rails=rails, setting=setting)

    def values(self):
        return {**self.values_of_messages(), **self.values_of_windows()}

    def gain(self, test, size=None, machine="adapters"):
        """Percent that two rails add to one: at a size, or to the greatest figure."""
        one, two = (self.curve(test, rails, machine=machine) for rails in (1, 2))
        return percent(two[size], one[size]) if size is not None else percent(max(two.values()), max(one.values()))

    def values_of_messages(self):
        def over_binding(test, size):
            return percent(self.curve(test, 2)[size], self.curve(test, 2, "binding")[size])
        alone = self.curve("small one way", 1)[1024]
        late = [float(row["late"]) for row in self.results.find(machine="adapters", rails=2, setting="default")
                if row["test"] in ("small one way", "one way")]
        kernels = {f"communication of {name.upper()}, class A, {ranks} processes": self.gain(f"{name}, {ranks}", 0)
                   for name in ("ft", "is") for ranks in (8, 16)}
        collectives = {f"{name} of 1 MiB, {ranks} processes": self.gain(f"{name}, {ranks}", 1 << 20)
                       for name in ("broadcast", "all-to-all") for ranks in (8, 16)}
        return {
            "out-of-order packets, default": max(late),
            "latency of 4 B, two rails over one": self.gain("latency", 4),
            "latency of 1 MiB, two rails over one": self.gain("latency", 1 << 20),
            "one way, two rails over one": self.gain("one way"),
            "one way, part of twice one rail": 50 + self.gain("one way") / 2,
            "both ways, two rails over one": self.gain("both ways"),
            "windows of 1 KiB, round robin over one rail": percent(self.curve("small one way", 2, "round robin")[1024], alone),
            "windows of 1 KiB, default over one rail": percent(self.curve("small one way", 2)[1024], alone),
            "two processes a node, one way: default over binding": over_binding("pairs one way", 1 << 20),
            "two processes a node, both ways: default over binding": over_binding("pairs both ways", 1 << 20),
            "two processes a node, one way, 2 KiB: default over binding": over_binding("pairs one way", 2048),
            **collectives, **kernels,
        }

    def values_of_windows(self):
        found = {}
        for machine in MACHINES:
            of = f"two {machine} over one"
            for size in (2, 16):
                found[f"puts of {size} KiB in windows, {of}"] = self.gain("put one way", size << 10, machine)
            for name, test in (("put", "put one way"), ("put both ways", "put both ways"), ("get", "get one way")):
                found[f"{name}, {of}"] = self.gain(test, None, machine)
            for name in ("put", "get"):
                found[f"latency of a {name}, {of}"] = self.gain(name, 1 << 20, machine)
            for rails, count in ((2, f"two {machine}"), (1, f"one {machine[:-1]}")):
                best = {test: max(self.curve(test, rails, machine=machine).values())
                        for test in ("ordered", "reordered", "turns")}
                found[f"puts and gets reordered over ordered, {count}"] = percent(best["reordered"], best["ordered"])
                found[f"the program takes turns, over ordered, {count}"] = percent(best["turns"], best["ordered"])
        return {name: value for name, value in found.items() if name in self.expected()}

    def sections(self):
        return pages.sections(self)


def arguments_of(test):
    if test.program == "mpibench":
        return (test.name, "-s", ",".join(map(str, test.sizes)), "-x", "20", "-i", test.rounds,
                *(("-W", "32") if test.name == "rma_mixed_bw" else ()))
    if test.program == "exchanges":
        return (test.name, test.rounds, 10, *test.sizes)
    return (test.name,)


def percent(new, old):
    return 100 * (new / old - 1)


if __name__ == "__main__":
    sys.exit(main(TwoRails(HERE)))
