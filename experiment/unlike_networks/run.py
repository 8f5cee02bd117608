#!/usr/bin/env python3
"""A fast network and a slow one, used together (V07, sections 10.4.2 and 10.4.3).

Two nodes with both networks (configuration A), and eight nodes with the slow one, four of which have the fast one, too
(configuration B).
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from reproduce.experiment import Experiment, main  # noqa: E402
from reproduce.simulated import PACKETS, Cluster, by_size, compiled, micro_benchmarks, simulate  # noqa: E402
from report_page.axes import bytes_axis, linear_axis, log_axis  # noqa: E402
from report_page.charts import Series, bar_chart, line_chart  # noqa: E402
from report_page.page import Figure, Section  # noqa: E402

# V07 10.4.2: InfiniBand moves 880 MB/s one way and 931 both ways, through its PCI-X bus; Ethernet about 100 MB/s, on the
# other I/O bridge. Latencies are ours.
BUS = PACKETS + "bus-rate 931MB/s\nbus half\n"
FAST, FAST_LATENCY, SLOW, SLOW_LATENCY = "880MB/s", "1us", "100MB/s", "5us"
# Buffers stay registered; processor time for a message, an estimate.
COSTS = ("--registration-cost", "0us", "--post-cost", "250ns", "--completion-cost", "250ns")
SIZES = (1, 8, 64, 512, 4096, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
SMALL, STRIPED = 8192, 524288
TESTS = ("latency", "bw", "bibw")
POLICIES = {"both": "auto", "both, even": "even", "both, round robin": "round_robin", "both, adaptive": "adaptive"}
SETTINGS = ("InfiniBand", "Ethernet", *POLICIES)
STYLES = {"InfiniBand": "mpich", "Ethernet": "openmpi", "both": "hawser", "both, even": "ucx", "both, round robin": "verbs",
          "both, adaptive": "openib"}
KERNELS = ("is", "cg", "ft", "mg", "lu")
NODES = {"InfiniBand, 4 nodes": (4, {}), "Ethernet, 8 nodes": (8, {}), "both, 8 nodes": (8, {}),
         # Without datagrams, every peer is connected before the first message.
         "both, 8 nodes, no datagrams": (8, {"HAWSER_RAIL_DATAGRAMS": "0"}),
         "both, 8 nodes, adaptive": (8, {"HAWSER_RAIL_POLICY": "adaptive", "HAWSER_RAIL_DATAGRAMS": "0"})}
# Not the paper's: rails of today, 12 GB/s and 1 GB/s without a bus in common.
TODAY = "latency, 12 and 1 GB/s"
TODAY_SETTINGS = {"12 GB/s alone": {}, "both": {}, "both, stripes of 256 KiB": {"HAWSER_RAIL_STRIPE": "256K"}}
NODE_STYLES = ("mpich", "openmpi", "hawser", "hawser-2", "openib")
# V07 10.4.3: seconds of IS, class A; what both networks gain for CG against Ethernet alone and InfiniBand alone.
PAPER_IS = {"InfiniBand, 4 nodes": 2.09, "Ethernet, 8 nodes": 1.90, "both, 8 nodes": 1.75}
PAPER_CG = {"Ethernet, 8 nodes": 0.20, "InfiniBand, 4 nodes": 0.09}


def one_network(fast, hosts):
    rate, latency = (FAST, FAST_LATENCY) if fast else (SLOW, SLOW_LATENCY)
    return Cluster(rate, latency, fabric="single-switch", parameters=BUS, options=("--hosts", hosts, *COSTS))


def two_networks(hosts, fast):
    """Rail 0 is InfiniBand, which only the first `fast` hosts have."""
    lines = [BUS]
    for host in range(hosts):
        lines.append(f"link n{host}/hw0 rate {FAST} latency {FAST_LATENCY}\n" if host < fast else f"host n{host} n{host}/hw1\n")
        lines.append(f"link n{host}/hw1 rate {SLOW} latency {SLOW_LATENCY}\n")
    return Cluster(FAST, FAST_LATENCY, rails=2, fabric="two-switch", parameters="".join(lines),
                   options=("--hosts", hosts, *COSTS))


def against(ours, other):
    """Percent."""
    return 100 * (ours / other - 1)


def today(setting):
    if setting.endswith("alone"):
        return Cluster("12GB/s", "500ns", fabric="single-switch", options=("--hosts", 2, *COSTS))
    slow = "".join(f"link n{host}/hw1 rate 1GB/s\n" for host in (0, 1))
    return Cluster("12GB/s", "500ns", rails=2, fabric="two-switch", parameters=PACKETS + slow, options=("--hosts", 2, *COSTS))


class UnlikeNetworks(Experiment):
    name, title = "unlike_networks", "A fast network and a slow one, used together"
    of_a_run = ("test", "setting")
    keys = (*of_a_run, "bytes")
    figures = ("figure",)

    def runs(self):
        return [*({"test": test, "setting": setting} for test in TESTS for setting in SETTINGS),
                *({"test": TODAY, "setting": setting} for setting in TODAY_SETTINGS),
                *({"test": kernel, "setting": setting} for kernel in KERNELS for setting in NODES)]

    def compile(self, build, folder):
        kernels = {name: compiled(build, [HERE.parent / f"kernels/{name}.c"], folder) for name in KERNELS}
        return {"benchmarks": micro_benchmarks(build, folder), **kernels}

    def run(self, build, program, run):
        test, setting = run["test"], run["setting"]
        if test in KERNELS:
            ranks, variables = NODES[setting]
            cluster = two_networks(8, 4) if setting.startswith("both") else one_network(setting.startswith("InfiniBand"), ranks)
            return [{"bytes": "", "figure": simulate(build, cluster, ranks, program[test], "a", variables=variables).strip()}]
        both = setting in POLICIES
        cluster = two_networks(2, 2) if both else one_network(setting == "InfiniBand", 2)
        variables = {"HAWSER_RAIL_POLICY": POLICIES[setting]} if both else {}
        rounds = ("-x", 40, "-i", 20) if test == "latency" else ("-x", 10, "-i", 10)
        if test == TODAY:
            test, cluster, variables, rounds = "latency", today(setting), TODAY_SETTINGS[setting], ("-x", 300, "-i", 50)
        text = simulate(build, cluster, 2, program["benchmarks"], test, "-s", ",".join(map(str, SIZES)), *rounds,
                        variables=variables)
        return [{"bytes": size, "figure": figure} for size, figure in by_size(text).items()]

    def curve(self, test, setting):
        return self.results.curve("bytes", test=test, setting=setting)

    def communication(self, kernel, setting):
        """Seconds."""
        return self.results.value(test=kernel, setting=setting) / 1e6

    def computing(self, kernel):
        """Seconds of all computing, from the paper: of IS so that 4 nodes with InfiniBand take as long as there, of CG so that
        these and 8 nodes with Ethernet compare as there."""
        fast, slow = (self.communication(kernel, setting) for setting in ("InfiniBand, 4 nodes", "Ethernet, 8 nodes"))
        if kernel == "is":
            return 4 * (PAPER_IS["InfiniBand, 4 nodes"] - fast)
        ratio = (1 - PAPER_CG["Ethernet, 8 nodes"]) / (1 - PAPER_CG["InfiniBand, 4 nodes"])
        return (ratio * slow - fast) / (1 / 4 - ratio / 8)

    def gain(self, kernel):
        """Percent: what both networks change of the communication over Ethernet on 8 nodes."""
        return against(self.communication(kernel, "both, 8 nodes"), self.communication(kernel, "Ethernet, 8 nodes"))

    def whole(self, kernel, setting):
        return self.computing(kernel) / NODES[setting][0] + self.communication(kernel, setting)

    def worst(self, test, setting, other, sizes):
        """Percent by which the setting is longer, at most."""
        ours, theirs = self.curve(test, setting), self.curve(test, other)
        return max(against(ours[size], theirs[size]) for size in sizes)

    def values(self):
        latency, one_way, both_ways = ({setting: self.curve(test, setting) for setting in SETTINGS} for test in TESTS)
        peak = {setting: max(one_way[setting].values()) for setting in SETTINGS}
        found = {
            "one way: both networks, of the sum": 100 * peak["both"] / (peak["InfiniBand"] + peak["Ethernet"]),
            "one way: both networks against InfiniBand": against(peak["both"], peak["InfiniBand"]),
            "both ways: both networks against InfiniBand": against(max(both_ways["both"].values()),
                                                                   max(both_ways["InfiniBand"].values())),
            "latency of up to 8 KiB, worst size: both networks against InfiniBand": self.worst(
                "latency", "both", "InfiniBand", [size for size in SIZES if size <= SMALL]),
            "latency of 16 KiB to 1 MiB, worst size: both networks against InfiniBand": self.worst(
                "latency", "both", "InfiniBand", [size for size in SIZES if size > SMALL]),
            "latency, rails of 12 and 1 GB/s, worst size: both against the fast one": self.worst(
                TODAY, "both", "12 GB/s alone", SIZES),
            "latency of 512 KiB: both networks against InfiniBand": against(latency["both"][STRIPED],
                                                                            latency["InfiniBand"][STRIPED]),
            "bandwidth, worst size: both networks against InfiniBand": -self.worst("bw", "InfiniBand", "both", SIZES)}
        found["IS, Ethernet on 8 nodes, seconds"] = self.whole("is", "Ethernet, 8 nodes")
        for kernel in ("is", "cg"):
            for setting in ("both, 8 nodes", "both, 8 nodes, no datagrams"):
                end = setting.removeprefix("both, 8 nodes")
                for other in ("InfiniBand, 4 nodes", "Ethernet, 8 nodes"):
                    found[f"{kernel.upper()}, both networks{end}, against {other}"] = against(
                        self.whole(kernel, setting), self.whole(kernel, other))
        found["MG, both networks, against Ethernet, 8 nodes, communication"] = self.gain("mg")
        return found

    def chart(self, test, title, y, sizes=SIZES, settings=SETTINGS):
        curves = [Series(STYLES[setting], setting,
                         [(size, value, value, value) for size, value in self.curve(test, setting).items() if size in sizes])
                  for setting in settings]
        svg = line_chart(title, curves, bytes_axis(sizes), y, unit=y.label)
        return Figure(svg, title, [(each.style, each.label, each.dashed) for each in curves])

    def most(self, test, sizes=SIZES, settings=SETTINGS):
        return max(self.curve(test, setting)[size] for setting in settings for size in sizes)

    def benchmark_section(self):
        small, large = ([size for size in SIZES if (size <= SMALL) == is_small] for is_small in (True, False))
        few, fast = ("InfiniBand", "both", "both, even", "both, round robin"), ("InfiniBand", "both", "both, adaptive")
        figures = [self.chart("latency", "Figure 10.7: latency of small messages",
                              linear_axis("us", self.most("latency", small, few)), small, few),
                   self.chart("latency", "Figure 10.8: latency of large messages",
                              linear_axis("us", self.most("latency", large, fast)), large, fast),
                   self.chart("bw", "Figure 10.9: one way", linear_axis("MB/s", self.most("bw"))),
                   self.chart("bibw", "Figure 10.10: both ways", linear_axis("MB/s", self.most("bibw")))]
        return Section("two-nodes", "Two nodes with both networks (figures 10.7 to 10.10)", seen=self.seen_of_two_nodes(),
                       figures=figures)

    def seen_of_two_nodes(self):
        long = {setting: self.curve("latency", setting)[1048576] / 1e3 for setting in SETTINGS}
        one, both = ({setting: f"{self.most(test, settings=[setting]):.0f}" for setting in SETTINGS} for test in ("bw", "bibw"))
        return ["Small messages take the fast network alone, so that the slow one adds no latency, as in the paper. Figure 10.7 "
                "also compares two libraries of the adapter's maker; that is not reproduced, since there is only one here.",
                f"One way both networks carry {one['both']} MB/s ({one['InfiniBand']} and {one['Ethernet']} alone; paper: 963, "
                f"880 and 100), both ways {both['both']} ({both['InfiniBand']} and {both['Ethernet']} alone; paper: 1095, and "
                "931 over InfiniBand).",
                "Policies that treat rails alike are worse, as the paper says without a figure (10.2.3): one message of 1 MiB "
                f"takes {long['both, even']:.1f} ms by even striping, {long['both, round robin']:.1f} by round robin, "
                f"{long['both']:.2f} by the default and {long['InfiniBand']:.2f} over InfiniBand alone. Adaptive striping, which "
                f"the paper takes, carries {one['both, adaptive']} MB/s one way, less than the default.",
                "<b>The default is worse than InfiniBand alone</b> for 16 to 64 KiB both ways, where both rails share a bus. "
                "Until November 26 it was for single messages of 16 and 32 KiB as well: virtual ports report a standard rate, "
                "not that of their link, and short stripes taught the library the truth slowly."]

    def today_section(self):
        styles = ("mpich", "hawser", "hawser-2")
        curves = [Series(style, setting, [(size, value, value, value) for size, value in self.curve(TODAY, setting).items()])
                  for style, setting in zip(styles, TODAY_SETTINGS)]
        svg = line_chart(TODAY, curves, bytes_axis(SIZES), log_axis("us", [y for each in curves for _, y, _, _ in each.points]),
                         unit="us")
        alone, both = (self.curve(TODAY, setting) for setting in ("12 GB/s alone", "both"))
        worst = max(SIZES, key=lambda size: both[size] / alone[size])
        seen = [f"A slow rail must not make a message slower. {worst} B take {both[worst]:.1f} us in place of "
                f"{alone[worst]:.1f} at worst. Ports say the rate of their own link. Until November 26 virtual ports all said "
                "the fabric's usual rate; then 64 KiB took 33 us in place of 10, for what the library measures corrects it "
                "late where messages are short."]
        return Section("today", "Rails of 12 and 1 GB/s (not in the paper)", seen=seen,
                       figures=[Figure(svg, "Latency", [(each.style, each.label, each.dashed) for each in curves])])

    def kernel_section(self):
        def bars(kernels, time):
            return [(style, setting, [(time(kernel, setting),) * 3 for kernel in kernels])
                    for style, setting in zip(NODE_STYLES, NODES)]

        def values_of(found):
            return [each[0] for _, _, those in found for each in those]
        whole, alone = bars(("is", "cg"), self.whole), bars(KERNELS, self.communication)
        beside = [("openib", "paper", [(seconds,) * 3 for seconds in PAPER_IS.values()]),
                  ("hawser", "ours", [(self.whole("is", setting),) * 3 for setting in PAPER_IS])]
        keys = [(style, setting, "bar") for style, setting in zip(NODE_STYLES, NODES)]
        figures = [Figure(bar_chart("with computing", ["IS", "CG"], whole, "class A", linear_axis("s", max(values_of(whole)))),
                          "Figure 10.11: IS and CG, computing added", keys),
                   Figure(bar_chart("IS", list(PAPER_IS), beside, "class A", linear_axis("s", 2.5)),
                          "IS beside the paper's times", [(style, label, "bar") for style, label, _ in beside]),
                   Figure(bar_chart("communication", [kernel.upper() for kernel in KERNELS], alone, "class A",
                                    linear_axis("s", max(values_of(alone)))),
                          "Figures 10.11 and 10.12: communication alone", keys)]
        return Section("eight-nodes", "Eight nodes, of which four have InfiniBand (figures 10.11 and 10.12)",
                       seen=self.seen_of_kernels(), figures=figures)

    def seen_of_kernels(self):
        return [f"Computing takes no time in the simulator. For IS {self.computing('is'):.1f} s of computing, divided by the "
                "nodes, are added, so that 4 nodes with InfiniBand take the paper's 2.09 s. Then Ethernet on 8 nodes takes "
                f"{self.whole('is', 'Ethernet, 8 nodes'):.2f} s (paper: 1.90), both networks "
                f"{self.whole('is', 'both, 8 nodes'):.2f} s (paper: 1.75).",
                f"For CG the paper has only percentages, from which {self.computing('cg'):.1f} s follow. Both networks do not "
                "gain there: in each step of CG all ranks exchange equal messages with one partner and wait for it, so the pairs "
                "that have Ethernet alone set the pace, however the ranks are placed. Why the paper's CG gains is not said.",
                "By default CG takes as long as without datagrams. (Until November 26 it took 1.24 of the time on Ethernet "
                "alone: datagrams took rails that the receiver does not have.)",
                "FT and MG gain little, as in figure 10.12, for which the paper has no numbers: with both networks the "
                f"communication of FT changes by {self.gain('ft'):+.1f} %, that of MG by {self.gain('mg'):+.1f} %, against "
                "Ethernet alone. As in CG, ranks that have Ethernet alone set the pace. LU is not in the paper: "
                f"{self.gain('lu'):+.0f} %."]

    def sections(self):
        return [self.benchmark_section(), self.today_section(), self.kernel_section()]


if __name__ == "__main__":
    sys.exit(main(UnlikeNetworks(HERE)))
