#!/usr/bin/env python3
"""Figures 3 to 16 of Coll and others 2001, simulated anew: how messages are given to the rails of a cluster.

What is special here: --build DIR simulates all points, and --quick only those that the numbers of expected.json need; it
fails if one of them agrees with the paper that does not with the points that are kept, or the other way.
"""
import concurrent.futures
import csv
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from reproduce.experiment import Experiment, main  # noqa: E402
from reproduce.simulated import checked  # noqa: E402
from report_page.axes import bytes_axis, linear_axis  # noqa: E402
from report_page.charts import Series, line_chart  # noqa: E402
from report_page.page import Figure, Section, Table  # noqa: E402

KIB = 1024
SIZES = [KIB << i for i in range(9)]
LOADS = [round(0.04 * i, 3) for i in range(1, 13)]
SATURATING = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
FIELDS = ("scheme", "striping", "nodes", "rails", "size", "short", "both_ways", "load")
RESULTS = ("accepted", "accepted_interval", "latency", "latency_interval")
# Style, scheme, striping.
ONE = {"basic": ("mpich", "basic", False), "local-dynamic": ("openmpi", "local-dynamic", False),
       "dynamic": ("hawser", "dynamic", False)}
ALL = {**ONE, "local-dynamic, striping": ("openmpi", "local-dynamic", True), "dynamic, striping": ("hawser", "dynamic", True)}
SHORTS = (1, 4, 8, 16, 32)
FULL_DUPLEX = 2


def point(scheme, striping=False, nodes=128, rails=4, size=32 * KIB, short=0, both_ways=0.8, load=0.15):
    return scheme, striping, nodes, rails, size, short, both_ways, load


def plan(quick):
    """Every point that a figure or a number needs."""
    points = {point("dynamic", striping, nodes=32, size=64 * KIB, load=0.05) for striping in (False, True)}
    points |= {point(scheme, striping, size=64 * KIB, load=0.05) for _, scheme, striping in ALL.values()}
    for load in SATURATING:
        for scheme in ("basic", "local-dynamic", "dynamic"):
            points |= {point(scheme, nodes=nodes, load=load) for nodes in (32, 64, 128)}
        points |= {point(scheme, scheme == "dynamic", nodes=32, rails=rails, load=load)
                   for scheme in ("basic", "dynamic") for rails in (1, 7)}
        points |= {point("hybrid", short=short * KIB, load=load) for short in SHORTS}
        points |= {point(scheme, nodes=32, both_ways=FULL_DUPLEX, load=load) for scheme in ("basic", "local-dynamic", "dynamic")}
    if quick:
        return sorted(points)
    for load in (*LOADS, 0.15):
        points |= {point(scheme, striping, size=size, load=load)
                   for _, scheme, striping in ALL.values() for size in SIZES}
        points |= {point("hybrid", striping, short=short * KIB, load=load) for striping in (False, True) for short in SHORTS}
    for load in SATURATING:
        for scheme in ("basic", "dynamic"):
            points |= {point(scheme, scheme == "dynamic", nodes=32, rails=rails, size=size, load=load)
                       for rails in (1, 2, 4) for size in SIZES}
            points |= {point(scheme, scheme == "dynamic", nodes=32, rails=rails, load=load) for rails in range(1, 8)}
    points |= {point(scheme, striping, nodes=32, rails=rails) for _, scheme, striping in ALL.values() for rails in range(1, 8)}
    return sorted(points)


def simulate(program, wanted, messages):
    scheme, striping, nodes, rails, size, short, both_ways, load = wanted
    command = [program, "--scheme", scheme, "--nodes", nodes, "--rails", rails, "--size", size, "--load", load, "--short", short,
               "--both-ways", both_ways, "--messages", messages, *(["--striping"] if striping else [])]
    return dict(zip(RESULTS, map(float, checked(command).split())))


class Results:
    def __init__(self, by_point):
        self.by_point = by_point

    def at(self, *words, **where):
        return self.by_point[point(*words, **where)]

    def most(self, *words, **where):
        """The greatest accepted load, whatever is offered."""
        wanted = point(*words, **where)[:-1]
        return max(found["accepted"] for key, found in self.by_point.items() if key[:-1] == wanted)

    def saturation(self, *words, **where):
        """The smallest offered load of which a twentieth is not accepted."""
        wanted = point(*words, **where)[:-1]
        loads = sorted(key[-1] for key in self.by_point if key[:-1] == wanted)
        return next((load for load in loads if self.by_point[(*wanted, load)]["accepted"] < 0.95 * load), loads[-1])


def numbers(found):
    def change(new, old):
        return 100 * (new / old - 1)

    def most(scheme, nodes=128):
        return found.most(scheme, nodes=nodes)

    def rails(scheme):
        return change(*(found.most(scheme, scheme == "dynamic", nodes=32, rails=rails) for rails in (7, 1)))

    def striping(scheme):
        return change(*(found.at(scheme, striped, size=64 * KIB, load=0.05)["latency"] for striped in (True, False)))

    def duplex(scheme):
        return found.most(scheme, nodes=32, both_ways=FULL_DUPLEX)

    hybrid = max(found.most("hybrid", short=short * KIB) for short in SHORTS)
    return {"dynamic over basic, 32 nodes": change(most("dynamic", 32), most("basic", 32)),
            "dynamic over basic, 128 nodes": change(most("dynamic"), most("basic")),
            "best hybrid over local-dynamic": change(hybrid, most("local-dynamic")),
            "best hybrid over basic": change(hybrid, most("basic")),
            "best hybrid over dynamic": change(hybrid, most("dynamic")),
            "basic, 7 rails over 1": rails("basic"), "dynamic, 7 rails over 1": rails("dynamic"),
            "basic, 128 nodes over 64": change(most("basic"), most("basic", 64)),
            "dynamic, 128 nodes over 64": change(most("dynamic"), most("dynamic", 64)),
            "striping, latency of dynamic, 64 KiB, load 0.05": striping("dynamic"),
            "striping, latency of local-dynamic, 64 KiB, load 0.05": striping("local-dynamic"),
            "full-duplex bus: dynamic over basic": change(duplex("dynamic"), duplex("basic")),
            "full-duplex bus: local-dynamic over basic": change(duplex("local-dynamic"), duplex("basic"))}


def curve(key, xs, value):
    style, _, striping = key[1]
    return Series(style, key[0], [(x, *3 * (value(x),)) for x in xs], striping)


def chart(title, series, x, y):
    keys = [(each.style, each.label, each.dashed) for each in series]
    return Figure(line_chart(title, series, x, y), title, keys)


def below(loads, found, *words, **where):
    """Latencies up to saturation: beyond it they grow without end."""
    end = found.saturation(*words, **where)
    return [load for load in loads if load < end]


def load_figures(found):
    """Figures 3 to 6."""
    figures, axis = [], linear_axis("offered load", LOADS[-1])
    for size, names in ((4, (3, 4)), (64, (5, 6))):
        accepted = [curve((label, (style, scheme, striping)), LOADS,
                          lambda load, s=scheme, t=striping: found.at(s, t, size=size * KIB, load=load)["accepted"])
                    for label, (style, scheme, striping) in ALL.items()]
        figures.append(chart(f"Figure {names[0]}: accepted load, {size} KiB", accepted, axis, linear_axis("accepted load", 0.4)))
        latency = [curve((label, (style, scheme, striping)), below(LOADS, found, scheme, striping, size=size * KIB),
                         lambda load, s=scheme, t=striping: found.at(s, t, size=size * KIB, load=load)["latency"] / 1000)
                   for label, (style, scheme, striping) in ALL.items()]
        most = max(value for each in latency for _, value, *_ in each.points)
        figures.append(chart(f"Figure {names[1]}: latency, {size} KiB", latency, axis, linear_axis("thousand cycles", most)))
    return figures


def size_figures(found):
    """Figures 7, 9 and 12."""
    def rising(label, style, scheme, striping):
        sizes = [size for size in SIZES if found.saturation(scheme, striping, size=size) > 0.15]
        return curve((label, (style, scheme, striping)), sizes,
                     lambda size: found.at(scheme, striping, size=size)["latency"] / 1000)

    latency = [rising(label, *entry) for label, entry in ALL.items()]
    most = max(value for each in latency for _, value, *_ in each.points)
    figures = [chart("Figure 7: latency, load 0.15", latency, bytes_axis(SIZES), linear_axis("thousand cycles", most))]
    series = [Series(style, f"{scheme}, {rails} rails",
                     [(size, *3 * (found.most(scheme, scheme == "dynamic", nodes=32, rails=rails, size=size),)) for size in SIZES],
                     rails == 4)
              for scheme, style in (("basic", "mpich"), ("dynamic", "hawser")) for rails in (1, 2, 4)]
    figures.append(chart("Figure 9: greatest accepted load, 32 nodes", series, bytes_axis(SIZES),
                         linear_axis("accepted load", 0.4)))
    saturation = [curve((label, entry), SIZES, lambda size, s=entry[1]: found.saturation(s, size=size))
                  for label, entry in ONE.items()]
    figures.append(chart("Figure 12: saturation, 128 nodes", saturation, bytes_axis(SIZES), linear_axis("offered load", 0.5)))
    return figures


def scale_figures(found):
    """Figures 8, 10 and 11."""
    nodes = (32, 64, 128)
    series = [curve((label, entry), nodes, lambda n, s=entry[1]: found.most(s, nodes=n)) for label, entry in ONE.items()]
    figures = [chart("Figure 8: greatest accepted load, 32 KiB", series, linear_axis("nodes", 128),
                     linear_axis("accepted load", 0.4))]
    rails = range(1, 8)
    series = [Series(style, scheme, [(r, *3 * (found.most(scheme, scheme == "dynamic", nodes=32, rails=r),)) for r in rails])
              for scheme, style in (("basic", "mpich"), ("dynamic", "hawser"))]
    figures.append(chart("Figure 10: greatest accepted load, 32 nodes, 32 KiB", series, linear_axis("rails", 7),
                         linear_axis("accepted load", 0.4)))
    latency = [curve((label, entry), rails,
                     lambda r, s=entry[1], t=entry[2]: found.at(s, t, nodes=32, rails=r)["latency"] / 1000)
               for label, entry in ALL.items()]
    most = max(value for each in latency for _, value, *_ in each.points)
    figures.append(chart("Figure 11: latency, 32 nodes, 32 KiB, load 0.15", latency, linear_axis("rails", 7),
                         linear_axis("thousand cycles", most)))
    return figures


def hybrid_figures(found):
    """Figures 13 to 16."""
    figures, axis = [], linear_axis("offered load", LOADS[-1])
    styles = dict(zip(SHORTS, ("openmpi", "openib", "ucx", "verbs", "hawser")))
    for striping, names in ((False, (13, 14)), (True, (15, 16))):
        settings = {"basic": ("mpich", ("basic",)), "dynamic": ("mpich", ("dynamic", striping)),
                    **{f"hybrid, {short} KiB": (styles[short], ("hybrid", striping, 128, 4, 32 * KIB, short * KIB))
                       for short in SHORTS}}
        how = "with striping" if striping else "without striping"
        series = [Series(style, label, [(load, *3 * (found.at(*words, load=load)["accepted"],)) for load in LOADS], label == "dynamic")
                  for label, (style, words) in settings.items()]
        figures.append(chart(f"Figure {names[0]}: accepted load {how}, 32 KiB", series, axis, linear_axis("accepted load", 0.4)))
        series = [Series(style, label, [(load, *3 * (found.at(*words, load=load)["latency"] / 1000,))
                                        for load in below(LOADS, found, *words)], label == "dynamic")
                  for label, (style, words) in settings.items()]
        most = max(value for each in series for _, value, *_ in each.points)
        figures.append(chart(f"Figure {names[1]}: latency {how}, 32 KiB", series, axis, linear_axis("thousand cycles", most)))
    return figures


def static_limit(rails):
    """Nodes that can all send to each other if each interface only sends or only receives (section 1)."""
    return math.comb(rails, rails // 2)


def static_table():
    return Table("Static allocation: nodes at most, C(r, r/2)", ["rails", "nodes"],
                 [[str(rails), str(static_limit(rails))] for rails in range(1, 15)])


def sections(found):
    note = (HERE / "findings.html").read_text(encoding="utf-8")
    return [Section("allocation", "Rail allocation", note, tables=[static_table()]),
            Section("load", "Rail allocation: offered load", "128 nodes, four rails, four processes a node.", figures=load_figures(found)),
            Section("size", "Rail allocation: size of the messages", figures=size_figures(found)),
            Section("scale", "Rail allocation: nodes and rails", figures=scale_figures(found)),
            Section("hybrid", "Rail allocation: hybrid", "128 nodes, four rails. Messages up to the size named reserve nothing.",
                    figures=hybrid_figures(found))]


def read_points():
    with open(HERE / "points.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    kinds = (str, lambda text: text == "True", int, int, int, int, float, float)
    return Results({tuple(kind(row[name]) for kind, name in zip(kinds, FIELDS)): {name: float(row[name]) for name in RESULTS}
                    for row in rows})


def write_points(found):
    with open(HERE / "points.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*FIELDS, *RESULTS])
        for key, value in found.by_point.items():
            writer.writerow([*key, *(f"{value[name]:g}" for name in RESULTS)])


def simulated(build, jobs, quick):
    points = plan(quick)
    program = build / "bin" / "rail_allocation"
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return Results(dict(zip(points, pool.map(lambda each: simulate(program, each, 60), points))))


class RailAllocation(Experiment):
    name, title = "rail_allocation", "Rail allocation"
    data = "points.csv"

    def measure(self, build, jobs, only="", anew=False):
        if only or not anew:
            return 0  # points.csv has all
        found = simulated(build, jobs, False)
        write_points(found)
        return len(found.by_point)

    def values(self):
        return numbers(read_points())

    def sections(self):
        return sections(read_points())

    def quick(self, build, jobs):
        kept = {number.what: number.verdict for number in self.numbers()}
        self.values = lambda: numbers(simulated(build, jobs, True))
        changed = [number for number in self.numbers() if number.verdict != kept[number.what]]
        for number in changed:
            print(f"{number.what} is {number.ours} now, which {number.verdict}; by points.csv it {kept[number.what]}")
        return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(RailAllocation(HERE)))
