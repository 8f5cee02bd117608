#!/usr/bin/env python3
"""Several send and receive engines of a port (V07, chapter 6).

Micro-benchmarks over one port whose engines are slower than its link, with one queue pair, with the paper's policies on two
and four, and with Hawser's default. The kernels IS and FT are of experiment/kernels.
"""
import csv
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from reproduce.experiment import Experiment, main  # noqa: E402
from reproduce.simulated import PACKETS, Cluster, by_size, compiled, micro_benchmarks, simulate  # noqa: E402

import pages  # noqa: E402

# One queue pair reached 1661 MB/s and all of them 2745 (V07 6.3.2), which are taken for the rates of an engine and of the
# link. The paper does not say how many engines there are; it uses up to four queue pairs. The bus, GX+, moves 7.6 GB/s
# (2.3.1). For the latency it has no number.
ENGINE = "engines 4 {}-engine-rate 1661MB/s\n"
PARAMETERS = PACKETS + "bus half bus-rate 7.6GB/s\n" + "".join(f"{way}-" + ENGINE.format(way) for way in ("send", "receive"))
COSTS = ("--post-cost", "250ns", "--completion-cost", "250ns", "--registration-cost", "0us")


def policy(name, queue_pairs=4, rendezvous="write"):
    return {"HAWSER_RAIL_POLICY": name, "HAWSER_RAIL_ENGINES": str(queue_pairs), "HAWSER_RAIL_RENDEZVOUS": rendezvous}


# The paper's messages are written by their sender.
SETTINGS = {
    "one queue pair": {"HAWSER_RAIL_ENGINES": "1"},
    "default": {},
    "epc": policy("epc"),
    "epc, 2": policy("epc", 2),
    "striping": policy("even"),
    "round robin": policy("round_robin"),
    "binding": policy("binding"),
    "epc by reads": policy("epc", 4, "read"),
    "striping by reads": policy("even", 4, "read"),
    "default of two engines": {"HAWSER_RAIL_ENGINES": "2"},
}
PAPERS = ("one queue pair", "default", "epc", "striping", "round robin")
BY_READS = ("epc by reads", "striping by reads")
SMALL = (1, 8, 64, 256, 1024, 2048, 4096)
LARGE = (8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 4194304)
# Test: sizes, ranks, ranks a node, rounds, settings.
TESTS = {
    "latency": (SMALL + LARGE, 2, 1, 20, (*PAPERS, "epc, 2", "binding", "default of two engines")),
    "latency, later": (LARGE, 2, 1, 20, ("default",)),
    "bw": (SMALL + LARGE, 2, 1, 20, (*PAPERS, "epc, 2", *BY_READS)),
    "bibw": (SMALL + LARGE, 2, 1, 20, (*PAPERS, "epc, 2", *BY_READS)),
    "alltoall": ((1024, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 1048576), 8, 4, 10, PAPERS),
    **{f"{kernel}, {ranks}": ((), ranks, ranks // 2, 1, PAPERS[:3]) for kernel in ("is", "ft") for ranks in (2, 4, 8)},
}
KERNELS = HERE.parent / "kernels"


class Engines(Experiment):
    name, title = "engines", "Several engines of a port"
    of_a_run = ("test", "setting")
    keys = (*of_a_run, "bytes")
    figures = ("figure",)

    def runs(self):
        return [{"test": test, "setting": setting} for test, (*_, settings) in TESTS.items() for setting in settings]

    def compile(self, build, folder):
        return {"mpibench": micro_benchmarks(build, folder), "pingpong": compiled(build, [HERE / "pingpong.c"], folder),
                **{name: compiled(build, [KERNELS / f"{name}.c"], folder) for name in ("is", "ft")}}

    def run(self, build, program, run):
        sizes, ranks, per_node, rounds, _ = TESTS[run["test"]]
        cluster = Cluster("2745MB/s", "1us", 1, "single-switch", PARAMETERS, (*COSTS, "--hosts", ranks // per_node))
        if not sizes:
            words = [program[run["test"].partition(",")[0]], "a"]
        elif run["test"] == "latency, later":
            words = [program["pingpong"], rounds, 20, 4 << 20, *sizes]
        else:
            words = [program["mpibench"], run["test"], "-s", ",".join(map(str, sizes)), "-x", 20, "-i", rounds]
        text = simulate(build, cluster, ranks, *words, per_node=per_node, variables=SETTINGS[run["setting"]])
        return [{"bytes": size, "figure": figure} for size, figure in (by_size(text) if sizes else {0: float(text)}).items()]

    def curve(self, test, setting):
        return self.results.curve("bytes", test=test, setting=setting)

    def gain(self, test, setting, size=None):
        """Percent over one queue pair: at a size, or of the greatest figures."""
        one, ours = self.curve(test, "one queue pair"), self.curve(test, setting)
        return percent(ours[size], one[size]) if size is not None else percent(max(ours.values()), max(one.values()))

    def behind(self, setting):
        """Percent of time that a setting takes more than the better of two policies, test and size: of all from 16 KiB on."""
        found = []
        for test in ("latency", "bw", "bibw"):
            ours, others = self.curve(test, setting), [self.curve(test, name) for name in ("striping", "round robin")]
            for size in LARGE[1:]:
                best = (min if test == "latency" else max)(other[size] for other in others)
                more = percent(ours[size], best) if test == "latency" else percent(best, ours[size])
                found.append((more, test, size))
        return found

    def kernel(self, name, setting):
        """Percent of the time of communication with one engine, class A, 16 processes, even tables."""
        with open(KERNELS / "figures.csv", newline="", encoding="ascii") as file:
            wanted = {"kernel": name, "class": "a", "ranks": "16", "ports": "two engines", "seed": "0"}
            times = {row["setting"]: float(row["us"]) for row in csv.DictReader(file) if wanted.items() <= row.items()}
        return percent(times[setting], times["one engine"])

    def values(self):
        found = {}
        for key, name in (("default", "default"), ("epc", "EPC")):
            over = f"{name} over one queue pair"
            found |= {f"one way, {over}": self.gain("bw", key), f"both ways, {over}": self.gain("bibw", key),
                      f"latency of 1 MiB, {over}": self.gain("latency", key, 1 << 20),
                      f"windows of 4 KiB, {over}": self.gain("bw", key, 4096),
                      f"all-to-all 2 x 4 of 64 KiB, {over}": self.gain("alltoall", key, 65536),
                      f"{name} at its worst against the better of striping and round robin": max(self.behind(key))[0]}
            for kernel in ("is", "ft"):
                found[f"{kernel.upper()}, class A, 16 nodes: {name}"] = self.kernel(kernel, key)
                found[f"{kernel.upper()}, class A, 2 nodes with 1 process: {name}"] = self.gain(f"{kernel}, 2", key, 0)
                found[f"{kernel.upper()}, class A, 2 nodes with 2 processes: {name}"] = self.gain(f"{kernel}, 4", key, 0)
        found |= {f"latency of {text}, default over one queue pair": self.gain("latency", "default", size)
                  for text, size in (("8 B", 8), ("64 KiB", 65536))}
        found["one way, 16 KiB: striping over EPC"] = percent(self.curve("bw", "striping")[16384], self.curve("bw", "epc")[16384])
        return found

    def sections(self):
        return pages.sections(self)


def percent(new, old):
    return 100 * (new / old - 1)


if __name__ == "__main__":
    sys.exit(main(Engines(HERE)))
