#!/usr/bin/env python3
"""Broadcasts by multicast against trees (M06, figures 6 to 14).

A cell is a fabric, a layout (nodes x ranks on each), a placement, a way and a size. Its time is the latency in microseconds, from
the root's begin to the slowest rank's end. Fabrics: "pci-x" is M06's clusters A and C (5.1), one rail of 900 MB/s, which S06
states for the same adapter, through a bus of 1 GB/s that carries one direction at a time (64 bits, 133 MHz); "pci-express" its
cluster B, links of 1 GB/s (4x) without such a bus; both one switch, 1 us a link, 250 ns of processor time for a request and for
a completion, buffers registered. The ranks of a node share areas. "two rails" is Hawser's own: a fat tree with two rails of 1 GB/s,
300 ns a link.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from reproduce.experiment import Experiment, main  # noqa: E402
from reproduce.simulated import PACKETS, Cluster, compiled, simulate  # noqa: E402
from report_page.axes import bytes_axis, linear_axis, log_axis  # noqa: E402
from report_page.charts import Series, line_chart  # noqa: E402
from report_page.figures import size_label  # noqa: E402
from report_page.page import Figure, Section, Table  # noqa: E402

HOST = ("--registration-cost", "0us", "--post-cost", "250ns", "--completion-cost", "250ns", "--areas")
FABRICS = {
    "pci-x": Cluster("900MB/s", "1us", fabric="single-switch", parameters=PACKETS + "bus-rate 1GB/s\nbus half\n", options=HOST),
    "pci-express": Cluster("1GB/s", "1us", fabric="single-switch", options=HOST),
    "two rails": Cluster("1GB/s", rails=2, fabric="fat-tree", parameters="", options=("--areas",)),
}
# Name of a way: variables, style and words of a curve.
WAYS = {
    "binomial": ({"HAWSER_MULTICAST": "off", "HAWSER_COLLECTIVE_ALGORITHM": "broadcast=binomial"}, "mpich",
                 "binomial tree (point-to-point)"),
    "trees": ({"HAWSER_MULTICAST": "off"}, "hawser", "trees (the default)"),
    "each": ({"HAWSER_MULTICAST": "always"}, "openmpi", "multicast to each process"),
    "multicast": ({"HAWSER_MULTICAST": "always"}, "ucx", "multicast to leaders"),
    "auto": ({"HAWSER_MULTICAST": "auto"}, "verbs", "auto"),
}
OF_PAPERS = {("pci-x", "8x2"): 6, ("pci-x", "16x2"): 7, ("pci-express", "8x2"): 8, ("pci-x", "2x4"): 12}
CYCLIC = {("pci-x", "8x2"): 9, ("pci-x", "16x2"): 10, ("pci-express", "8x2"): 11}
LATE = {"8x2": 13, "16x2": 14}
DELAYS = (0, 100, 400, 800)
OWN_WAYS = ("binomial", "trees", "multicast", "auto")
OURS = ("16x2", "2x4", "4x2", "16x1", "64x8")
SHOWN = (8, 128, 1024, 2048, 8192, 65536, 1048576)
SMALL, LONG = 4096, 65536


def parts(layout):
    """Nodes, ranks on each."""
    return tuple(int(number) for number in layout.split("x"))


class MulticastBroadcast(Experiment):
    name, title = "multicast_broadcast", "Broadcasts by multicast"
    of_a_run = ("fabric", "layout", "placement", "late_us", "way")
    keys = (*of_a_run, "bytes")
    figures = ("microseconds",)
    data = "cells.csv"

    def runs(self):
        """late_us: "none", or by how much leaders begin later; then the latency is the other ranks'."""
        cells = [(*where, "block", "none", way) for where in OF_PAPERS for way in WAYS]
        cells += [(*where, "cyclic", "none", way) for where in CYCLIC for way in ("binomial", "trees", "multicast")]
        cells += [("pci-x", layout, "block", late, way) for layout in LATE for late in DELAYS
                  for way in ("binomial", "trees", "multicast")]
        cells += [("two rails", layout, "block", "none", way) for layout in OURS for way in OWN_WAYS]
        return [dict(zip(self.of_a_run, cell)) for cell in cells]

    def compile(self, build, folder):
        return compiled(build, [HERE / "broadcast.c"], folder)

    def run(self, build, program, run):
        nodes, each = parts(run["layout"])
        most = LONG if run["fabric"] != "two rails" or run["layout"] == "64x8" else 1 << 20
        cluster, late = FABRICS[run["fabric"]], () if run["late_us"] == "none" else (run["late_us"],)
        if run["way"] == "each":
            cluster, nodes, each = for_each_process(cluster, each), nodes * each, 1
        text = simulate(build, cluster, nodes * each, program, most, 9, run["placement"], *late, per_node=each,
                        variables=WAYS[run["way"]][0])
        return [dict(zip(("bytes", "microseconds"), line.split())) for line in text.splitlines()]

    def curve(self, fabric, layout, way, placement="block", late="none", most=LONG):
        found = self.results.curve("bytes", fabric=fabric, layout=layout, placement=placement, late_us=late, way=way)
        return {int(size): time for size, time in found.items() if size <= most}

    def gain(self, slow, fast):
        return max(time / fast[size] for size, time in slow.items())

    def values(self):
        found = {"16 x 2, multicast over point-to-point, up to 4 KiB":
                 self.gain(self.curve("pci-x", "16x2", "binomial", most=SMALL), self.curve("pci-x", "16x2", "multicast"))}
        for layout, words in (("16x2", "16 x 2"), ("2x4", "2 x 4")):
            found[f"{words}, leaders over multicast to each process, up to 64 KiB"] = \
                self.gain(self.curve("pci-x", layout, "each"), self.curve("pci-x", layout, "multicast"))
        for fabric, layout, words in (("pci-x", "16x2", "16 x 2"), ("pci-express", "8x2", "8 x 2 (cluster B)")):
            found[f"{words}, multicast, cyclic over block, up to 4 KiB: greatest"] = \
                self.gain(self.curve(fabric, layout, "multicast", "cyclic", most=SMALL), self.curve(fabric, layout, "multicast"))
        late, in_time = (self.curve("pci-x", "16x2", "multicast", late=delay)[1024] for delay in (800, 0))
        return found | {"16 x 2, 1 KiB, leaders 800 us late over in time": late / in_time}

    def chart(self, title, curves):
        """`curves`: style, words, {bytes: us}, dashed."""
        series = [Series(style, words, [(x, y, y, y) for x, y in points.items()], dashed)
                  for style, words, points, dashed in curves]
        times = [point[1] for each in series for point in each.points]
        axis = log_axis("us", times) if max(times) > 20 * min(times) else linear_axis("us", max(times))
        chart = line_chart(title, series, bytes_axis([8, LONG]), axis, size_label, "us")
        return Figure(chart, title, [(each.style, each.label, each.dashed) for each in series])

    def sections(self):
        return [self.ways_section(), self.placement_section(), self.late_section(), self.own_section()]

    def ways_section(self):
        def figure(number, fabric, layout):
            return self.chart(f"Figure {number}: {fabric}, {layout}", [
                (WAYS[way][1], WAYS[way][2], self.curve(fabric, layout, way), False) for way in WAYS if way != "auto"])
        return Section("multicast-ways", "Latency of a broadcast",
                       figures=[figure(number, *where) for where, number in OF_PAPERS.items()], seen=ways_seen(self))

    def placement_section(self):
        def figure(number, fabric, layout):
            return self.chart(f"Figure {number}: {fabric}, {layout}", [
                (WAYS[way][1], f"{WAYS[way][2]}, {placement}", self.curve(fabric, layout, way, placement), placement == "cyclic")
                for way in ("binomial", "trees", "multicast") for placement in ("block", "cyclic")])
        return Section("multicast-placement", "Block and cyclic placement",
                       figures=[figure(number, *where) for where, number in CYCLIC.items()], seen=placement_seen(self))

    def late_section(self):
        def figure(number, layout):
            styles = dict(zip(DELAYS, ("hawser-1", "hawser-2", "hawser-4", "ucx")))
            return self.chart(f"Figure {number}: {layout}, leaders begin late", [
                (styles[delay], f"{delay} us late{words}", self.curve("pci-x", layout, way, late=delay), way == "trees")
                for way, words in (("multicast", ""), ("trees", ", trees (no attach)")) for delay in DELAYS])
        return Section("multicast-late", "Late leaders", figures=[figure(number, layout) for layout, number in LATE.items()],
                       seen=late_seen(self))

    def own_section(self):
        rows = []
        for layout in OURS:
            ways = [self.curve("two rails", layout, way, most=1 << 20) for way in OWN_WAYS]
            for size in SHOWN:
                if size in ways[0]:
                    times = [way[size] for way in ways]
                    rows.append([layout, size_label(size), *(f"{time:.1f}" for time in times), f"{times[1] / times[2]:.2f}",
                                 f"{times[0] / times[2]:.2f}"])
        head = ["nodes x ranks", "bytes", "binomial, us", "trees, us", "multicast, us", "auto, us", "trees / multicast",
                "binomial / multicast"]
        return Section("multicast-own", "Over two rails of 1 GB/s", seen=[
            "Of Hawser alone. Multicast is faster from three nodes on, and by more the more there are."],
            tables=[Table("", head, rows)])


def for_each_process(cluster, each):
    """M06's multicast without leaders: an adapter that passes a packet on to so many processes of its host, one after the other.
    Hawser attaches leaders only. So every process has a host of its own, whose adapter takes in as much less."""
    return Cluster(cluster.rate, cluster.latency, fabric=cluster.fabric, options=cluster.options,
                   parameters=f"{PACKETS}receive-engine-rate {900 // each}MB/s\n")


def ways_seen(experiment):
    def gain(fabric, layout, way, most=SMALL):
        slow, fast = (experiment.curve(fabric, layout, each, most=most) for each in (way, "multicast"))
        return f"{experiment.gain(slow, fast):.2f}"
    found = ["Leaders by multicast, times as fast at most, " + "; ".join(
        f"{fabric} {layout}: as the binomial tree {gain(fabric, layout, 'binomial')}, as the default's trees"
        f" {gain(fabric, layout, 'trees')} (up to 4 KiB), as multicast to each process {gain(fabric, layout, 'each', LONG)} (up"
        " to 64 KiB)" for fabric, layout in OF_PAPERS) + "."]
    return found + [
        "Agrees in what is fastest, and that leaders gain more the more processes a node has. Against point-to-point we gain"
        " more than M06: the tree's levels cost a message each. On two nodes (figure 12) Hawser's trees are as fast as multicast"
        " up to 1 KiB: there is one message between nodes in both.",
        "M06's multicast to each process does not exist in Hawser, which attaches leaders only. Here every process has a node of"
        " its own instead, whose adapter takes in half (a quarter, for four processes) of the rate, as copies that cross the bus"
        " one after the other. This shows the copies; it does not show what the adapter spends for each of them, so below 1 KiB"
        " it is as fast as leaders, unlike M06's.",
        "<b>The default has no multicast</b> (HAWSER_MULTICAST=off): no real network has been tried. It takes up to"
        f" {gain('pci-x', '16x2', 'trees', LONG)} times as long on 16 x 2. HAWSER_MULTICAST=auto takes trees on 2 x 4 up to 8"
        f" KiB, {experiment.curve('pci-x', '2x4', 'auto')[8192]:.1f} us where multicast takes"
        f" {experiment.curve('pci-x', '2x4', 'multicast')[8192]:.1f}."]


def placement_seen(experiment):
    def text(fabric, layout, way):
        block, cyclic = (experiment.curve(fabric, layout, way, placement, most=SMALL) for placement in ("block", "cyclic"))
        return f"{experiment.gain(cyclic, block):.2f}"
    found = ["Cyclic over block, greatest of sizes up to 4 KiB, " + "; ".join(
        f"{fabric} {layout}: multicast {text(fabric, layout, 'multicast')}, default's trees {text(fabric, layout, 'trees')},"
        f" binomial tree {text(fabric, layout, 'binomial')}" for fabric, layout in CYCLIC) + "."]
    return found + [
        "Agrees: multicast and Hawser's trees know the nodes, and do not care how ranks are placed; the binomial tree by ranks,"
        " which is M06's point-to-point, is slower if they are placed cyclically. M06 has 8 x 2 of cluster A in figure 9 with"
        " the same result. What multicast differs by is within 0.5 us."]


def late_seen(experiment):
    def times(way):
        return ", ".join(f"{experiment.curve('pci-x', '16x2', way, late=delay)[1024]:.0f}" for delay in DELAYS)
    return [f"1 KiB, 16 x 2, the slowest of those that are not late, if leaders are {', '.join(map(str, DELAYS))} us late: by"
            f" multicast {times('multicast')} us, by the default's trees {times('trees')}, by the binomial tree"
            f" {times('binomial')}.",
            "Agrees (MC-4): up to 16 KiB the latency falls back to that of leaders in time, as the others attach. They are even"
            " faster: with leaders in time they have the data from them, one step later. Longer broadcasts and trees wait for the"
            " leader, as M06's curves without dynamic attach.",
            "M06's others attach when their mean wait is more than 500 us (twice the 250 us that it takes to attach), so that of"
            " its delays only 800 us falls back. Hawser's attach from 50 us on: who attaches pays once, and waits each time.",
            "M06's text does not say which layouts figures 13 and 14 have; here they are 8 x 2 and 16 x 2."]


if __name__ == "__main__":
    sys.exit(main(MulticastBroadcast(HERE)))
