#!/usr/bin/env python3
"""Hot spots, and several paths around them: HSAM and BSS (V07, chapters 7 and 8).

The paper's cluster: 64 hosts on a switch of 144 ports, which is a fat tree of blocks of 24 ports; links of 2 GB/s (DDR),
adapters whose bus carries 1.5 GB/s each way. Its tables sent up to four flows over one link while others were idle
(figure 3.5), so most runs have tables that are drawn; the same tables for all settings. "Default mapping" is a random one
over 64 hosts.
"""
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from reproduce.experiment import Experiment, main  # noqa: E402
from reproduce.simulated import Cluster, by_size, checked, compiled, simulate  # noqa: E402
from report_page.figures import geometric_mean, percentile  # noqa: E402
from hot_spots.drawn import sections_of  # noqa: E402

LMC = 4  # BSS(12,3) needs 12 paths; all settings have the same tables
# A block and a cable add 0.12 us (V07 7.2.2).
PARAMETERS = "bus-rate 1.5GB/s\nswitch-latency 100ns\n"
# Ends of names of tests: buses carry as much as links; the algorithm is the paper's (8.4.2).
FAST, BY_RING = ", fast bus", ", ring"
# Data move in pieces no larger than packets, or of 16 KiB where all talk to all over uneven tables: that changes times by
# 3 % at most. (On even tables requests wait for answers so long that a round takes 11 % more.)
DENSE = ("alltoall", "reducescatter", "ft")
COSTS = ("--registration-cost", "0us", "--post-cost", "250ns", "--completion-cost", "250ns")


def cluster_for(test, tables="even"):
    chunk = "16K" if test in DENSE and tables != "even" else "4K"
    parameters = PARAMETERS.replace("1.5GB/s", "2GB/s") if test.endswith(FAST) else PARAMETERS
    return Cluster("2GB/s", latency="25ns", parameters=f"chunk {chunk}\n{parameters}", options=COSTS)


DRAWN = ("1", "2", "3")
# The first seed by which OpenSM, on 64 hosts, puts four flows on a link in step 12 of the ring and none on others.
AS_V07 = "opensm 27"
MAIN = ("one path", "HSAM 4", "BSS 12,3", "default")
HOSTS = 64  # of the paper's cluster
KIB = 1024
# Those whose mean is a number of the table; the larger ones of what is run.
COUNTED = {"alltoall": (64,), "reducescatter": (64,), "allgather": (64, 128), "allreduce": (4096,)}
SIZES = {**COUNTED, "alltoall": (32, 64), "allgather": (32, 64, 128), "allreduce": (1024, 2048, 4096)}
RING = 256 * KIB
KERNELS = ("ft", "is", "cg", "lu", "mg")


def setting_of(name):
    if name == "default" or name.startswith("LMC"):
        return {}
    if name == "one path":
        return {"HAWSER_RAIL_PATHS": "1", "HAWSER_RAIL_ENGINES": "1"}
    kind, _, number = name.partition(" ")
    if kind == "BSS":
        return {"HAWSER_RAIL_PATHS": number.split(",")[0], "HAWSER_RAIL_POLICY": f"bss({number})"}
    return {"HAWSER_RAIL_PATHS": number, "HAWSER_RAIL_POLICY": {"HSAM": "adaptive", "even": "even"}[kind]}


def options_of(run):
    lmc = run["setting"].split()[1] if run["setting"].startswith("LMC") else LMC
    if run["tables"] == "even":
        return ("--hosts", HOSTS, "--lmc", lmc)
    router, _, seed = run["tables"].rpartition(" ")
    return ("--hosts", HOSTS, "--lmc", lmc, "--shuffle-seed", seed, "--routing", router or "builtin")


class HotSpots(Experiment):
    name, title = "hot_spots", "Hot spots and paths around them"
    of_a_run = ("test", "processes", "placement", "tables", "setting")
    keys = (*of_a_run, "x")
    figures = ("figure", "each")

    def runs(self):
        def of(test, processes, placement, tables, settings):
            return [dict(zip(self.of_a_run, (test, processes, placement, table, setting)))
                    for table in tables for setting in settings]
        return [
            *of("flows", 24, 0, ("even", *DRAWN, "opensm 1", AS_V07), ("one path",)),
            *(run for last in (2, 13) for run in of("pingpong", last, 0, ("even",), (f"LMC {lmc}" for lmc in range(4)))),
            *of("memory", 24, 0, ("even",), ("one path", "HSAM 4", "HSAM 8")),
            *of("drc", 24, 0, DRAWN, (*MAIN, "HSAM 2", "HSAM 8", "even 4")),
            *of("drc", 24, 0, (AS_V07,), MAIN), *of("drc", 24, 0, ("even", "opensm 1"), ("one path", "HSAM 4", "default")),
            *of("alltoall", 48, 0, ("3",), (*MAIN, "HSAM 2", "HSAM 8", "even 4", "BSS 4,2", "BSS 8,2")),
            *of("allgather", 64, 1, DRAWN[:2], MAIN), *of("allgather", 32, 1, ("3",), MAIN),
            *of("reducescatter", 48, 0, ("3",), ("one path", "HSAM 4", "default")),
            *of("alltoall", 64, 0, ("3",), (*MAIN, "BSS 4,2", "BSS 8,2")),
            *of("allreduce", 64, 1, ("3",), MAIN), *of("allreduce", 48, 0, ("3",), MAIN),
            *of("allreduce", 64, 0, ("3",), MAIN), *of("allreduce", 32, 1, ("3",), MAIN),
            *of("allgather", 48, 0, ("3",), MAIN), *of("allgather", 64, 0, ("3",), MAIN),
            *(run for ranks in (32, 16, 64) for run in of("ft", ranks, 0, ("3",), MAIN)),
            *(run for kernel in KERNELS[1:] for run in of(kernel, 16, 0, ("3",), MAIN)), *of("mg", 16, 0, ("even",), MAIN),
            *of("alltoall", 48, 0, ("even",), ("one path", "HSAM 4", "default")), *of("alltoall", 48, 0, ("1", "2"), MAIN),
            *of("alltoall", 32, 1, ("3",), MAIN), *of("alltoall", 64, 1, ("3",), MAIN),
            *of("alltoall", 48, 0, (AS_V07,), MAIN), *of("allgather" + FAST, 32, 1, ("3",), MAIN),
            *of("allgather" + BY_RING, 64, 1, DRAWN[:2], MAIN), *of("allgather" + BY_RING, 64, 0, ("3",), MAIN),
            *of("allgather" + BY_RING, 32, 1, ("3",), MAIN),
        ]

    def compile(self, build, folder):
        programs = {kernel: compiled(build, [HERE.parent / f"kernels/{kernel}.c"], folder) for kernel in KERNELS}
        return {**programs, "hot_spots": compiled(build, [HERE / "hot_spots.c"], folder)}

    def run(self, build, program, run):
        test, processes = run["test"], run["processes"]
        pattern = test.removesuffix(FAST).removesuffix(BY_RING)
        if test == "flows":
            return [flows(build, run)]
        if test in KERNELS:
            text = simulate(build, cluster_for(test, run["tables"]), processes, program[test], "a" if test == "ft" else "w",
                            variables=setting_of(run["setting"]), options=options_of(run))
            return [{"x": 0, "figure": text.split()[0], "each": ""}]
        if test == "memory":
            return [{"x": 0, "figure": receive_buffers(build, program["hot_spots"], run), "each": ""}]
        rounds, warm_up, sizes = {"drc": (10, 5, (RING,)), "pingpong": (20, 20, (4,))}.get(test, (2, 4, None))
        sizes = sizes or [kib * KIB for kib in SIZES[pattern]]
        hosts = processes if run["placement"] == 0 else HOSTS
        algorithm = {"HAWSER_COLLECTIVE_ALGORITHM": "allgather=ring"} if test.endswith(BY_RING) else {}
        cluster = cluster_for(test, run["tables"])
        text = simulate(build, cluster, hosts, program["hot_spots"], pattern, processes, run["placement"], rounds, warm_up,
                        *sizes, variables={**setting_of(run["setting"]), **algorithm}, options=options_of(run))
        if test != "drc":
            return [{"x": size, "figure": figure, "each": ""} for size, figure in by_size(text).items()]
        steps = (line.split() for line in text.splitlines())
        return [{"x": step, "figure": f"{sum(map(float, rates)) / len(rates):.0f}", "each": " ".join(rates)}
                for step, *rates in steps]

    # The numbers

    def times(self, setting, test, processes, placement, tables):
        """Of the sizes that count, in us."""
        curve = self.results.curve("x", test=test, processes=processes, placement=placement, tables=tables, setting=setting)
        return [curve[kib * KIB] for kib in COUNTED[test.removesuffix(BY_RING)]] if curve else []

    def saved(self, setting, base, test, processes, placement=0, of=DRAWN):
        """By how many per cent `setting` takes less than `base`: mean over sizes, median over tables."""
        gains = []
        for tables in of:
            one, two = (self.times(name, test, processes, placement, tables) for name in (setting, base))
            if one and two:
                gains.append(100 * (1 - geometric_mean([a / b for a, b in zip(one, two)])))
        return percentile(gains, 0.5)

    def saved_by(self, test, setting, base, ranks, tables="3"):
        one, two = (self.results.value(test=test, processes=ranks, tables=tables, setting=name) for name in (setting, base))
        return 100 * (1 - one / two)

    def worst_kernel(self, setting):
        return min(self.saved_by(kernel, setting, "one path", 16) for kernel in ("is", "cg", "lu"))

    def ring(self, setting, tables):
        """Mean MB/s of all pairs in all steps."""
        steps = self.results.curve("x", test="drc", tables=tables, setting=setting)
        return sum(steps.values()) / len(steps)

    def ring_gain(self, setting, of):
        return percentile([100 * (self.ring(setting, tables) / self.ring("one path", tables) - 1) for tables in of], 0.5)

    def latency(self, lmc, last):
        return self.results.value(test="pingpong", processes=last, setting=f"LMC {lmc}")

    def values(self):
        hops = [self.latency(lmc, 13) - self.latency(lmc, 2) for lmc in range(4)]
        memory = {name: self.results.value(test="memory", setting=name) for name in ("one path", "HSAM 4", "HSAM 8")}
        return {
            "most flows on one link, step 12 of 24": self.results.value(test="flows", tables=AS_V07),
            "latency: two blocks more": hops[0],
            "latency: LMC 3 against 0": 100 * (self.latency(3, 13) / self.latency(0, 13) - 1),
            "receive buffers: 8 paths against one": 100 * (memory["HSAM 8"] / memory["one path"] - 1),
            **self.ring_values(), **self.all_to_all_values(), **self.other_values(),
        }

    def ring_values(self):
        return {
            "displaced ring of 24: HSAM": self.ring_gain("HSAM 4", DRAWN),
            "displaced ring of 24: HSAM, tables as in figure 3.5": self.ring_gain("HSAM 4", (AS_V07,)),
            "displaced ring of 24: default": self.ring_gain("default", DRAWN),
            "displaced ring of 24: default, tables as in figure 3.5": self.ring_gain("default", (AS_V07,)),
        }

    def all_to_all_values(self):
        def of(setting, base, processes=48, placement=0, tables=DRAWN):
            return self.saved(setting, base, "alltoall", processes, placement, tables)
        return {
            "all-to-all of 48: HSAM": of("HSAM 4", "one path"),
            "all-to-all of 48: 4 paths against 2": of("HSAM 4", "HSAM 2"),
            "all-to-all of 48: 8 paths": of("HSAM 8", "one path"),
            "all-to-all of 48: even stripes": of("even 4", "one path"),
            "all-to-all of 48: default": of("default", "one path"),
            "all-to-all of 48: BSS(12,3)": of("BSS 12,3", "one path"),
            "all-to-all of 48: BSS(12,3) against HSAM": of("BSS 12,3", "HSAM 4"),
            "all-to-all of 48: BSS(12,3) against BSS(4,2)": of("BSS 12,3", "BSS 4,2"),
            "all-to-all of 48: default against HSAM": of("default", "HSAM 4"),
            "all-to-all of 64: BSS(4,2) against HSAM": of("BSS 4,2", "HSAM 4", 64),
            "all-to-all of 64: BSS(8,2) against HSAM": of("BSS 8,2", "HSAM 4", 64),
            "all-to-all of 64: BSS(12,3) against HSAM": of("BSS 12,3", "HSAM 4", 64),
            "all-to-all of 64: default against HSAM": of("default", "HSAM 4", 64),
            "all-to-all of 32, placed at random: BSS(12,3)": of("BSS 12,3", "one path", 32, 1),
            "all-to-all of 64, placed at random: BSS(12,3)": of("BSS 12,3", "one path", 64, 1),
            "all-to-all of 64, placed at random: default": of("default", "one path", 64, 1),
        }

    def other_values(self):
        gather, reduce = "all-gather of", "all-reduce of"
        return {
            "reduce-scatter of 48: HSAM": self.saved("HSAM 4", "one path", "reducescatter", 48),
            "reduce-scatter of 48: default": self.saved("default", "one path", "reducescatter", 48),
            f"{gather} 48, in order: BSS(12,3)": self.saved("BSS 12,3", "one path", "allgather", 48),
            f"{gather} 64, in order: BSS(12,3)": self.saved("BSS 12,3", "one path", "allgather", 64),
            f"{gather} 32, placed at random: BSS(12,3)": self.saved("BSS 12,3", "one path", "allgather", 32, 1),
            f"{gather} 64, placed at random: BSS(12,3)": self.saved("BSS 12,3", "one path", "allgather", 64, 1),
            f"{gather} 64, placed at random: BSS(12,3) against HSAM": self.saved("BSS 12,3", "HSAM 4", "allgather", 64, 1),
            f"{gather} 64, placed at random: default": self.saved("default", "one path", "allgather", 64, 1),
            f"{gather} 64, placed at random: default against HSAM": self.saved("default", "HSAM 4", "allgather", 64, 1),
            **self.by_ring_values(),
            f"{reduce} 48, in order: BSS(12,3)": self.saved("BSS 12,3", "one path", "allreduce", 48),
            f"{reduce} 64, in order: BSS(12,3)": self.saved("BSS 12,3", "one path", "allreduce", 64),
            f"{reduce} 64, placed at random: BSS(12,3) against HSAM": self.saved("BSS 12,3", "HSAM 4", "allreduce", 64, 1),
            f"{reduce} 64, placed at random: default": self.saved("default", "one path", "allreduce", 64, 1),
            **{f"FT of {ranks}: HSAM": self.saved_by("ft", "HSAM 4", "one path", ranks) for ranks in (16, 32, 64)},
            **{f"FT of {ranks}: BSS(12,3)": self.saved_by("ft", "BSS 12,3", "one path", ranks) for ranks in (32, 64)},
            **{f"FT of {ranks}: default": self.saved_by("ft", "default", "one path", ranks) for ranks in (32, 64)},
            "IS, CG, LU of 16, the worst: BSS(12,3)": self.worst_kernel("BSS 12,3"),
            "IS, CG, LU of 16, the worst: default": self.worst_kernel("default"),
            "MG of 16: BSS(12,3)": self.saved_by("mg", "BSS 12,3", "one path", 16),
            "MG of 16: default": self.saved_by("mg", "default", "one path", 16),
            "MG of 16, even tables: default": self.saved_by("mg", "default", "one path", 16, "even"),
        }

    def by_ring_values(self):
        def of(setting, base, processes, placement):
            return self.saved(setting, base, "allgather" + BY_RING, processes, placement)
        gather = "all-gather by ring of"
        return {
            f"{gather} 64, in order: BSS(12,3)": of("BSS 12,3", "one path", 64, 0),
            f"{gather} 32, placed at random: BSS(12,3)": of("BSS 12,3", "one path", 32, 1),
            f"{gather} 64, placed at random: BSS(12,3)": of("BSS 12,3", "one path", 64, 1),
            f"{gather} 64, placed at random: BSS(12,3) against HSAM": of("BSS 12,3", "HSAM 4", 64, 1),
            f"{gather} 64, placed at random: default": of("default", "one path", 64, 1),
            f"{gather} 64, placed at random: default against HSAM": of("default", "HSAM 4", 64, 1),
        }

    def sections(self):
        return sections_of(self)


def flows(build, run):
    """Loads of the 24 links between two blocks in step 12, when each process sends to the other block."""
    words = [str(word) for word in options_of(run)]
    text = checked([build / "bin/hawser", "fabric", "topology", "fat-tree-144", *words, "--flows", "displaced-ring:12:24"])
    loads = [load for line in text.splitlines() if line.startswith("LEAF") and " up " in line for load in line.split()[2:]]
    return {"x": 12, "figure": max(map(float, loads)), "each": " ".join(loads)}


def receive_buffers(build, program, run):
    """Bytes of a process, once it is connected with all peers over all paths."""
    with tempfile.TemporaryDirectory(prefix="hawser-experiment-") as folder:
        result = pathlib.Path(folder) / "result.json"
        simulate(build, cluster_for("memory"), run["processes"], program, "alltoall", run["processes"], 0, 1, 0, 32 * KIB,
                 variables=setting_of(run["setting"]), options=(*options_of(run), "--json", result))
        return json.loads(result.read_text(encoding="utf-8"))["rails"]["packet_bytes"] // run["processes"]


if __name__ == "__main__":
    sys.exit(main(HotSpots(HERE)))
