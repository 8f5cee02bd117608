#!/usr/bin/env python3
"""Rendezvous by write, by read, and by read with interrupt (S06, figures 4 to 7).

Two processes send one message while one of them computes, and up to 36 communicate as NAS SP does. Links of 900 MB/s, which S06
names as the rate of its adapters (section 1), through an I/O bus of 1 GB/s that carries one direction at a time (PCI-X of 64
bits and 133 MHz, section 5), and the 144-port switch; buffers stay registered. An interrupt costs 18 us (section 4.3): the
simulator takes 2 us until the handler runs, and the program computes 18 us longer for each one that it had, as on the one core
of the paper's uni-processor kernel. HPL's figures are those that `bench/computing --hpl` has kept in bench/computing.json: it
fetches the program, whose computing takes real time.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from reproduce.experiment import Experiment, main  # noqa: E402
from reproduce.simulated import BENCH, PACKETS, Cluster, compiled, simulate  # noqa: E402
from report_page.axes import linear_axis  # noqa: E402
from report_page.charts import Series, bar_chart, line_chart  # noqa: E402
from report_page.figures import size_label  # noqa: E402
from report_page.page import Figure, Section  # noqa: E402

PCI_X = Cluster("900MB/s", latency="1us", fabric="fat-tree-144", parameters=PACKETS + "bus-rate 1GB/s\nbus half\n",
                options=("--registration-cost", "0us"))
# Name: variables, style and words of a curve.
SCHEMES = {
    "write": ("write", "polling", "mpich", "write"),
    "read": ("read", "polling", "hawser", "read (the default)"),
    "read_interrupt": ("read", "interrupt", "ucx", "read with interrupt"),
    "write_interrupt": ("write", "interrupt", "verbs", "write with interrupt"),
}
PLAIN = {"write": "write", "read": "read", "read_interrupt": "read with interrupt"}
MEGABYTE = 1 << 20
SIZES = {64 << 10: "a", 256 << 10: "b", MEGABYTE: "c"}
INTERRUPT_US = 18
OF_PAPER = ("sender", "receiver")
# Who computes; the late one has seen the message before it begins to receive.
SIDES = {"sender": "sender", "receiver": "receiver", "late_receiver": "receiver, which came last,"}
RANKS = (4, 9, 16, 25, 36)
# Class C of NAS SP: 162 points along each side; 853 operations for a point and iteration, at 250 million a second.
SOLVER = ("162", "3400000", "1", "5")


def computations(size):
    """Up to twice as long as the message takes; S06's text has 1500 and 1800 us."""
    found = [size * step / MEGABYTE * 200 for step in range(1, 12)]
    return sorted(found + [1500]) if size == MEGABYTE else found


class Rendezvous(Experiment):
    name, title = "rendezvous", "Rendezvous by write, by read, and by read with interrupt"
    of_a_run = ("test", "scheme", "side", "size", "interrupt_us")
    keys = (*of_a_run, "computing_us")
    figures = ("whole_us", "other_us", "interrupts", "faces_us")

    def runs(self):
        def one(test, scheme, side, size, interrupt):
            return dict(zip(self.of_a_run, (test, scheme, side, size, interrupt)))
        return [one("overlap", scheme, side, size, INTERRUPT_US) for scheme in SCHEMES for side in OF_PAPER for size in SIZES] + \
            [one("overlap", scheme, "late_receiver", MEGABYTE, INTERRUPT_US) for scheme in SCHEMES] + \
            [one("overlap", scheme, "receiver", MEGABYTE, 0) for scheme in ("read_interrupt", "write_interrupt")] + \
            [one("solver", scheme, "both", ranks, 0) for scheme in SCHEMES for ranks in RANKS]

    def compile(self, build, folder):
        return {name: compiled(build, [HERE / f"{name}.c"], folder) for name in ("overlap", "solver")}

    def run(self, build, program, run):
        """whole_us: of the process that computes; other_us: the other one's blocking call, or what a process is in MPI_Waitall,
        of which faces_us for its faces."""
        rendezvous, progress, _, _ = SCHEMES[run["scheme"]]
        variables = {"HAWSER_RAIL_RENDEZVOUS": rendezvous, "HAWSER_PROGRESS": progress}
        if run["test"] == "solver":
            text = simulate(build, PCI_X, run["size"], program["solver"], *SOLVER, variables=variables)
            return [{"computing_us": 0, "interrupts": 0, **dict(zip(("other_us", "faces_us", "whole_us"), text.split()))}]
        text = simulate(build, PCI_X, 2, program["overlap"], run["size"], run["side"], run["interrupt_us"],
                        *(f"{each:g}" for each in computations(run["size"])), variables=variables)
        return [dict(zip(("computing_us", *self.figures), (*line.split(), 0))) for line in text.splitlines()]

    def whole(self, scheme, side, computing, interrupt=INTERRUPT_US):
        return self.results.value(test="overlap", scheme=scheme, side=side, size=MEGABYTE, interrupt_us=interrupt,
                                  computing_us=f"{computing}")

    def share(self, scheme, side, interrupt=INTERRUPT_US):
        """S06's overlap: the computing's share of the whole time, in percent."""
        return 100 * 1800 / self.whole(scheme, side, 1800, interrupt)

    def faster(self, scheme, side):
        return 100 * (self.whole("write", side, 1500) / self.whole(scheme, side, 1500) - 1)

    def waited(self, scheme, ranks):
        return self.results.value("other_us", test="solver", scheme=scheme, size=ranks) / 1000

    def change(self, scheme, ranks):
        return 100 * (self.waited(scheme, ranks) / self.waited("write", ranks) - 1)

    def values(self):
        shares = {"sender": ("read", "read_interrupt"), "receiver": ("write", "read", "read_interrupt"),
                  "late_receiver": ("read",)}
        values = {f"the {SIDES[side]} computes 1800 us beside 1 MB, {PLAIN[scheme]}": self.share(scheme, side)
                  for side, schemes in shares.items() for scheme in schemes}
        values |= {f"the {side} computes 1500 us beside 1 MB: {PLAIN[scheme]} faster than write": self.faster(scheme, side)
                   for side, scheme in (("sender", "read"), ("receiver", "read_interrupt"))}
        values |= {f"MPI_Wait of NAS SP's pattern, 36 processes, {PLAIN[scheme]} against write": self.change(scheme, 36)
                   for scheme in ("read", "read_interrupt")}
        largest = hpl()[-1]
        values["MPI_Wait of HPL, 16 processes, read against write"] = \
            100 * (largest["read"]["MPI_Wait_ms"] / largest["write"]["MPI_Wait_ms"] - 1)
        return values

    def overlap_chart(self, side, size):
        series = []
        for scheme, (_, _, style, label) in SCHEMES.items():
            points = self.results.curve("computing_us", test="overlap", scheme=scheme, side=side, size=size,
                                        interrupt_us=INTERRUPT_US)
            series.append(Series(style, label, [(x, *3 * (100 * x / y,)) for x, y in points.items()],
                                 scheme == "write_interrupt"))
        number = {"sender": "Figure 4", "receiver": "Figure 5"}.get(side)
        title = f"{number} ({SIZES[size]}): the {side} computes, {size_label(size)}" if number else "The sender is first, 1 MiB"
        most = max(point[0] for each in series for point in each.points)
        chart = line_chart(title, series, linear_axis("computing, us", most), linear_axis("overlap, %", 100), unit="%")
        return Figure(chart, title, [(each.style, each.label, each.dashed) for each in series], small=True)

    def bars(self, title, groups, label, axis, rows):
        """`rows`: for each scheme, a value for each group."""
        series = [(SCHEMES[scheme][2], SCHEMES[scheme][3], [3 * (value,) for value in values]) for scheme, values in rows.items()]
        axis = linear_axis(axis, max(value for values in rows.values() for value in values))
        return Figure(bar_chart(title, groups, series, label, axis), title, [(style, name, "bar") for style, name, _ in series])

    def sections(self):
        return [self.sender_section(), self.receiver_section(), self.progress_section(), self.programs_section()]

    def sender_section(self):
        return Section("rendezvous-sender", "Overlap where the sender computes", seen=[
            f"Agrees: with reads the message moves while the sender computes ({self.share('read', 'sender'):.1f} % at 1800 us),"
            " since the receiver, which waits, needs nothing but the start. With writes the sender finds the answer only when it"
            " waits, and the two times add up.",
            "Interrupts do not change a read: nothing has to interrupt the sender. The paper does not try writes with"
            " interrupts. Hawser has them: they hide the message as well, for one interrupt."],
            figures=[self.overlap_chart("sender", size) for size in SIZES])

    def receiver_section(self):
        def share(scheme, side="receiver", interrupt=INTERRUPT_US):
            return f"{self.share(scheme, side, interrupt):.1f} %"
        return Section("rendezvous-receiver", "Overlap where the receiver computes", seen=[
            f"Agrees: without interrupts the times add up, by write {share('write')} and by read {share('read')} at 1800 us (S06"
            f" 59 and 62.2 %). With them the read is hidden: {share('read_interrupt')} with the one interrupt of 18 us, which is"
            f" 1 % of the time, and {share('read_interrupt', interrupt=0)} if another core serves it (S06 99.5 %, with one core"
            " and with two).",
            "The paper's write and read are 3 points apart, ours are equal: 1 MB takes 1174 us by both. There W / T gives 1251"
            " us for the write and 1094 for the read.",
            "Writes with interrupts, which the paper does not try, cost two interrupts in place of one:"
            f" {share('write_interrupt')}.",
            "<b>The default is read without interrupts.</b> HAWSER_PROGRESS=interrupt is what the paper recommends; auto takes"
            " it where ranks have cores to spare, but the simulator takes auto for polling.",
            "Agrees: if the sender is first (S06 4.1), the receiver reads as soon as it knows the start, in MPI_Irecv: with"
            f" interrupts {share('read_interrupt', 'late_receiver')}, without them {share('read', 'late_receiver')}."],
            figures=[self.overlap_chart("receiver", size) for size in SIZES] + [self.overlap_chart("late_receiver", MEGABYTE)])

    def progress_section(self):
        rows = {scheme: [self.whole(scheme, side, 1500) for side in OF_PAPER] for scheme in SCHEMES}
        figure = self.bars("Figure 6: 1 MB beside 1500 us of computing, whole time",
                           [f"the {side} computes" for side in OF_PAPER], "", "us", rows)

        def partner(scheme, side):
            return self.results.value("other_us", test="overlap", scheme=scheme, side=side, size=MEGABYTE,
                                      interrupt_us=INTERRUPT_US, computing_us="1500")
        return Section("rendezvous-progress", "Progress while computing", figures=[figure], seen=[
            "The paper draws time stamps on a line for each scheme; here are the ends of these lines. The other stamp, when the"
            f" data are there: the receiver has them after {partner('read', 'sender'):.0f} us by read and"
            f" {partner('write', 'sender'):.0f} by write if the sender computes; if the receiver computes, the sender's call is"
            f" over after {partner('read_interrupt', 'receiver'):.0f} us by read with interrupt and"
            f" {partner('read', 'receiver'):.0f} by read.",
            f"Agrees, and by more: by read {self.faster('read', 'sender'):.0f} % faster than by write where the sender computes,"
            f" by read with interrupt {self.faster('read_interrupt', 'receiver'):.0f} % where the receiver does; the paper says"
            f" around 50 %. A read without interrupts gains {self.faster('read', 'receiver'):.1f} % where the receiver computes;"
            " the paper says hardly any."])

    def programs_section(self):
        rows = {scheme: [self.waited(scheme, ranks) for ranks in RANKS] for scheme in SCHEMES}
        kept = hpl()
        of_hpl = {scheme: [row[name]["MPI_Wait_ms"] for row in kept]
                  for scheme, name in (("write", "write"), ("read", "read"), ("read_interrupt", "interrupt"))}
        figures = [self.bars("Figure 7 (a): HPL, MPI_Wait of a process", [row["ranks"] for row in kept], "processes", "ms",
                             of_hpl),
                   self.bars("Figure 7 (b): NAS SP's pattern, MPI_Waitall of a process and iteration", RANKS, "processes", "ms",
                             rows)]
        return Section("rendezvous-programs", "Programs", figures=figures, seen=programs_seen(self))


def programs_seen(experiment):
    def changes(scheme):
        return ", ".join(f"{experiment.change(scheme, ranks):+.0f}" for ranks in RANKS)

    def parts(scheme):
        """Milliseconds for faces, and in the sweeps."""
        faces = experiment.results.value("faces_us", test="solver", scheme=scheme, size=36) / 1000
        return f"{faces:.1f} and {experiment.waited(scheme, 36) - faces:.1f}"
    return ["NAS SP itself is not run. The kernel (solver.c) has SP's messages and its order of calls (copy_faces, then sweeps"
            " in which a process begins to receive, prepares its cell, waits and eliminates), sizes of class C, and computing as"
            " long as at 250 million operations a second, uneven by up to 1 %. So seconds differ from the paper's, which its"
            " text does not state.",
            f"On {', '.join(map(str, RANKS))} processes MPI_Waitall takes, in percent against write: read {changes('read')}; read"
            f" with interrupt {changes('read_interrupt')}; write with interrupt {changes('write_interrupt')}. The paper has about"
            " -28 % on 36 processes for read, with and without interrupts, and less on fewer.",
            f"Faces and sweeps on 36 processes, ms: write {parts('write')}; read {parts('read')}; read with interrupt"
            f" {parts('read_interrupt')}; write with interrupt {parts('write_interrupt')}. Interrupts do what the paper says"
            " where there is computing. Without interrupts a receiver that computes when a message comes begins to read in its"
            " next call, so the default gains less than the paper's read.",
            "HPL does not agree: in HPCC's HPL, MPI_Wait stands only behind exchanges of rows, with nothing to compute beside"
            " them; panels go by blocking calls. Its figures are those of bench/computing --hpl (4 and 16 processes, not 32)."]


def hpl():
    return json.loads((BENCH / "computing.json").read_text(encoding="utf-8"))["hpl"]


if __name__ == "__main__":
    sys.exit(main(Rendezvous(HERE)))
