"""The figures of V07's chapters 7 and 8 from the data of run.py, and what is seen in them."""
import collections

from report_page.axes import bytes_axis, linear_axis
from report_page.charts import BOTTOM, TOP, Level, Plot, Series, bar_chart, escape, line_chart
from report_page.figures import short, spread
from report_page.page import Figure, Section

from hot_spots.seen import SEEN

STYLES = {"one path": "mpich", "HSAM 2": "hawser-1", "HSAM 4": "openmpi", "HSAM 8": "hawser-4", "even 4": "hawser-2",
          "BSS 4,2": "hawser-2", "BSS 8,2": "hawser-4", "BSS 12,3": "ucx", "default": "hawser"}
LABELS = {"one path": "one path (Original)", "HSAM 2": "HSAM, 2 paths", "HSAM 4": "HSAM, 4 paths", "HSAM 8": "HSAM, 8 paths",
          "even 4": "even, 4 paths", "BSS 4,2": "BSS(4,2)", "BSS 8,2": "BSS(8,2)", "BSS 12,3": "BSS(12,3)",
          "default": "Hawser's default"}
MAIN = ("one path", "HSAM 4", "BSS 12,3", "default")
BUS, LINK = 1500, 2000  # MB/s


def bound(test, processes, size):
    """Milliseconds that the adapters' buses need. With several paths no link needs more (`hawser fabric topology --flows
    all-to-all:48 --lid-offset all`)."""
    sent = 2 * size * (processes - 1) / processes if test == "allreduce" else (processes - 1) * size
    return sent / (LINK if test.endswith("fast bus") else BUS) / 1000


def latency_chart(results, caption, settings, where, tables=("1", "2", "3")):
    """Times by size: median over the tables, and their range. `where`: test, processes, placement."""
    where = dict(zip(("test", "processes", "placement"), where))
    curves, sizes = [], set()
    for setting in settings:
        times = collections.defaultdict(list)
        for row in results.find(setting=setting, **where):
            if row["tables"] in tables:
                times[int(row["x"])].append(float(row["figure"]) / 1000)
        if times:
            sizes |= set(times)
            points = [(size, *spread(found)) for size, found in sorted(times.items())]
            curves.append(Series(STYLES[setting], LABELS[setting], points))
    least = [(size, bound(where["test"], where["processes"], size)) for size in sorted(sizes)]
    curves.append(Series("verbs", "bound", [(size, ms, ms, ms) for size, ms in least], dashed=True))
    y = linear_axis("ms", max(high for curve in curves for *_, high in curve.points))
    chart = line_chart(caption, curves, bytes_axis(sorted(sizes)), y, x_name=lambda size: f"{size // 1024} KiB", unit="ms")
    return Figure(chart, caption, [(each.style, each.label, each.dashed) for each in curves])


def bars(results, caption, groups, settings, where_of, label, unit):
    """Bars: `where_of(group)` says which rows; median over tables."""
    series = []
    for setting in settings:
        found = [spread([float(row["figure"]) for row in results.find(setting=setting, **where_of(group))]) for group in groups]
        series.append((STYLES[setting], LABELS[setting], found))
    y = linear_axis(unit, max(each[2] for _, _, found in series for each in found if each))
    chart = bar_chart(caption, groups, series, label, y, unit=unit)
    return Figure(chart, caption, [(style, name, "bar") for style, name, _ in series])


def heat_map(results, caption, setting, tables):
    """Steps across, processes up; the darker, the less of what an adapter carries."""
    rows = sorted(results.find(test="drc", setting=setting, tables=tables), key=lambda row: int(row["x"]))
    rates = [[float(rate) for rate in row["each"].split()] for row in rows]
    x, y = linear_axis("step", len(rates), most=12), linear_axis("process", len(rates[0]), most=6)
    plot = Plot(x, y)
    wide, high = (plot.right - plot.left) / x.high, (plot.bottom - TOP) / y.high
    for step, column in enumerate(rates):
        for process, rate in enumerate(column):
            dark = max(0.0, 1 - rate / BUS)
            plot.add(f'<rect x="{plot.left + step * wide:.1f}" y="{plot.bottom - (process + 1) * high:.1f}" width="{wide:.1f}"'
                     f' height="{high:.1f}" style="fill: var(--ink); opacity: {dark:.2f}">'
                     f"<title>step {step + 1}, process {process}: {short(rate)} MB/s</title></rect>")
    plot.grid()
    plot.frame()
    every = [rate for column in rates for rate in column]
    words = f"{escape(caption)}: mean {short(sum(every) / len(every))}, least {short(min(every))} MB/s"
    return Figure(plot.svg(caption), words, small=True)


def link_chart(results):
    """Figure 3.5: loads of the 12 up-links of both blocks."""
    names = {"even": "hawser-1", "1": "hawser-2", "2": "hawser-4", "3": "openmpi", "opensm 1": "ucx", "opensm 27": "mpich"}
    series = []
    for tables, style in names.items():
        loads = sorted((float(load) for load in results.find(test="flows", tables=tables)[0]["each"].split()), reverse=True)
        router, _, seed = tables.rpartition(" ")
        label = "even tables" if tables == "even" else f"OpenSM, ports in order {seed}" if router else f"drawn, seed {seed}"
        series.append(Series(style, label, [(place + 1, load, load, load) for place, load in enumerate(loads)]))
    caption = "Figure 3.5: flows on the links that leave two blocks, step 12 of the displaced ring of 24, most first"
    chart = line_chart(caption, series, linear_axis("link", 24, most=8), linear_axis("flows", 4, most=4),
                       levels=[Level(1, "no hot spot")])
    return Figure(chart, caption, [(each.style, each.label, each.dashed) for each in series])


def hops_chart(results):
    found = {last: [results.value(test="pingpong", processes=last, setting=f"LMC {lmc}") for lmc in range(4)] for last in (2, 13)}
    series = [("hawser", "same block (1 hop)", [(us, us, us) for us in found[2]]),
              ("mpich", "another block (3 hops)", [(us, us, us) for us in found[13]])]
    caption = "Figure 7.2: latency of 4 bytes by LMC"
    chart = bar_chart(caption, list(range(4)), series, "LMC", linear_axis("us", 1.2), unit="us")
    return Figure(chart, caption, [(style, label, "bar") for style, label, _ in series])


def cluster_section(results):
    return Section("hot-spot-cluster", "The cluster of chapters 7 and 8", seen=SEEN["cluster"],
                   figures=[link_chart(results), hops_chart(results)])


def ring_section(results):
    order = ("one path", "HSAM 2", "HSAM 4", "HSAM 8", "even 4", "BSS 12,3", "default")
    maps = [heat_map(results, f"{figure}: {LABELS[setting]}", setting, "opensm 27")
            for figure, setting in zip(("Figure 7.7", "Figure 7.6", "The same", "The same"), MAIN)]
    groups = ["drawn", "as in figure 3.5", "OpenSM", "even"]

    def mean(setting, group):
        chosen = {"drawn": ("1", "2", "3"), "as in figure 3.5": ("opensm 27",), "OpenSM": ("opensm 1",), "even": ("even",)}[group]
        found = [[float(row["figure"]) for row in results.find(test="drc", setting=setting, tables=tables)] for tables in chosen]
        return spread([sum(steps) / len(steps) for steps in found if steps])
    series = [(STYLES[setting], LABELS[setting], [mean(setting, group) for group in groups]) for setting in order]
    chart = bar_chart("mean bandwidth", groups, series, "tables", linear_axis("MB/s", BUS), unit="MB/s")
    keys = [(style, label, "bar") for style, label, _ in series]
    return Section("displaced-ring", "Displaced ring of 24 processes",
                   figures=[*maps, Figure(chart, "Mean bandwidth of all pairs in all steps; whiskers: three tables", keys)],
                   seen=SEEN["ring"])


def all_to_all_section(results):
    def chart(caption, settings, processes, placement, tables=("1", "2", "3")):
        return latency_chart(results, caption, settings, ("alltoall", processes, placement), tables)
    paths = ("one path", "even 4", "HSAM 2", "HSAM 4", "HSAM 8", "default")
    batches = ("one path", "HSAM 4", "BSS 4,2", "BSS 8,2", "BSS 12,3", "default")
    return Section("all-to-all", "All-to-all", seen=SEEN["alltoall"], figures=[
        chart("Figure 7.3: all-to-all of 48 (drawn tables, seed 3)", paths, 48, 0, ("3",)),
        chart("Figure 8.5: all-to-all of 48, in order (seed 3)", batches, 48, 0, ("3",)),
        chart("The same, median and range of three sets of tables", MAIN, 48, 0),
        chart("Figure 8.6: all-to-all of 64, in order (seed 3)", batches, 64, 0),
        chart("Figure 8.7: all-to-all of 32, placed at random (seed 3)", MAIN, 32, 1),
        chart("Figure 8.8: all-to-all of 64, placed at random (seed 3)", MAIN, 64, 1),
        chart("All-to-all of 48 over even tables", ("one path", "HSAM 4", "default"), 48, 0, ("even",)),
        chart("All-to-all of 48 over OpenSM's tables, as in figure 3.5", MAIN, 48, 0, ("opensm 27",))])


def gather_section(results):
    def chart(caption, processes, placement, test="allgather"):
        return latency_chart(results, caption, MAIN, (test, processes, placement))
    return Section("all-gather", "All-gather", seen=SEEN["allgather"], figures=[
        chart("Figure 8.9: all-gather of 48, in order", 48, 0), chart("Figure 8.10: all-gather of 64, in order", 64, 0),
        chart("Figure 8.11: all-gather of 32, placed at random", 32, 1),
        chart("Figure 8.12: all-gather of 64, placed at random", 64, 1),
        chart("The same of 64 by the paper's algorithm, ring", 64, 1, "allgather, ring"),
        chart("Figure 8.11 with buses as fast as links", 32, 1, "allgather, fast bus")])


def reduce_section(results):
    def chart(caption, test, processes, placement):
        return latency_chart(results, caption, MAIN, (test, processes, placement))
    return Section("reductions", "Reduce-scatter and all-reduce", seen=SEEN["reduce"], figures=[
        chart("Figure 7.5: reduce-scatter of 48", "reducescatter", 48, 0),
        chart("Figures 7.4 and 8.13: all-reduce of 48, in order", "allreduce", 48, 0),
        chart("Figure 8.14: all-reduce of 64, in order", "allreduce", 64, 0),
        chart("Figure 8.15: all-reduce of 32, placed at random", "allreduce", 32, 1),
        chart("Figure 8.16: all-reduce of 64, placed at random", "allreduce", 64, 1)])


def kernel_section(results):
    def of(test):
        return lambda ranks: {"test": test, "processes": ranks}
    return Section("hot-spot-kernels", "Kernels as of NAS", seen=SEEN["kernels"], figures=[
        bars(results, "Figures 7.8, 7.9, 8.17, 8.18: communication of FT, class A", [16, 32, 64], MAIN, of("ft"), "processes",
             "us"),
        bars(results, "Figure 8.19: the other kernels, class W, 16 processes", ["is", "cg", "lu", "mg"], MAIN,
             lambda test: {"test": test, "processes": 16, "tables": "3"}, "kernel", "us")])


def sections_of(experiment):
    results = experiment.results
    return [draw(results) for draw in (cluster_section, ring_section, all_to_all_section, gather_section, reduce_section,
                                       kernel_section)]
