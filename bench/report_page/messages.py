"""Section: point to point in shared memory."""
from .axes import bytes_axis, log_axis
from .charts import Level, line_chart
from .figures import short, size_label, spread, with_range
from .libraries import LABELS, compare, curve, keys, ratios, values
from .page import Figure, Section, Table, Target

# Of each sweep: the title, the axis, the unit, by what its figures are multiplied.
SHOWN = {
    "latency": ("Latency", "half the round trip (us)", "us", 1.0),
    "bw": ("Bandwidth one way", "bandwidth (GB/s)", "GB/s", 1e-3),
    "bibw": ("Bandwidth both ways", "bandwidth, sum (GB/s)", "GB/s", 1e-3),
    "mbw_mr": ("Message rate", "messages (million/s)", "million/s", 1e-6),
}


def curves(sweep, factor):
    """A Series of each library."""
    return [
        curve(name, {size: [taken[i] for taken in rounds] for i, size in enumerate(sweep["bytes"])}, factor)
        for name, rounds in sweep["samples"].items()
    ]


def draw_sweep(section, sweep):
    title, axis, unit, factor = SHOWN[sweep["benchmark"]]
    series = curves(sweep, factor)
    found = values(series)
    if not found:
        return
    svg = line_chart(title, series, bytes_axis(sweep["bytes"]), log_axis(axis, found), size_label, unit)
    section.figures.append(Figure(svg, f"{title} over message size", keys(series)))
    ours, peers = series[0], series[1:]
    section.seen.append(compare(title, ours, peers, sweep["lower"], size_label))
    ratio = ratios(ours, peers, sweep["lower"])
    by_size = [{x: found for x, *found in each.points} for each in series]
    rows = [
        [size_label(size), *(with_range(one.get(size)) for one in by_size), short(ratio.get(size))]
        for size in sweep["bytes"]
    ]
    section.tables.append(
        Table(
            f"{title}, {unit}: median (lowest to highest) of the runs",
            ["size", *(s.label for s in series), "ratio"],
            rows,
        )
    )


def draw_relative(section, sweeps):
    """How often as fast as the better peer, so that curves which lie close together can be told apart."""
    series = []
    for sweep, (style, dashed) in zip(
        sweeps, (("hawser", False), ("hawser-4", True), ("hawser-1", False), ("verbs", False))
    ):
        ours, *peers = curves(sweep, 1.0)
        found = {
            size: 1 / ratio if sweep["lower"] else ratio
            for size, ratio in ratios(ours, peers, sweep["lower"]).items()
        }
        series.append(
            curve(
                "hawser",
                {size: [value] for size, value in found.items()},
                label=SHOWN[sweep["benchmark"]][0],
                style=style,
                dashed=dashed,
            )
        )
    if values(series):
        sizes = sorted({size for sweep in sweeps for size in sweep["bytes"]})
        svg = line_chart(
            "Speed relative to the better peer",
            series,
            bytes_axis(sizes),
            log_axis("times the better peer", [0.8, 1.25, *values(series)]),
            size_label,
            "times",
            [Level(1.0, "as fast as the better peer; above: Hawser is faster")],
            width=1120,
            height=300,
        )
        section.figures.append(
            Figure(svg, "Speed relative to the better peer at each size (medians)", keys(series), wide=True)
        )


def add_targets(section, rows):
    for row in rows:
        medians = row["medians"]
        if row.get("ratio") is None:
            continue
        lower = "(us)" in row["label"]
        if row.get("target") is not None:
            good = row["ratio"] <= row["target"] if lower else row["ratio"] >= row["target"]
            section.targets.append(
                Target(
                    row["label"],
                    f"{short(medians['hawser'])}, ratio to the better peer {row['ratio']:.2f}",
                    f"{'<=' if lower else '>='} {row['target']}",
                    good,
                )
            )
    single = [
        [
            row["label"],
            *(with_range(spread(row["samples"][name])) for name in row["medians"]),
            short(row.get("ratio")),
        ]
        for row in rows
    ]
    if rows:
        section.tables.append(
            Table(
                (
                    "Single sizes with many repetitions, which the targets are for: median (lowest to"
                    " highest) of the runs"
                ),
                ["", *(LABELS[name] for name in rows[0]["medians"]), "ratio"],
                single,
                open=True,
            )
        )


def beside(row):
    return "" if row.get("ratio") is None else f"; {row['ratio']:.2f} times the better peer's"


def draw(results):
    section = Section(
        "messages",
        "Messages in shared memory",
        (
            "Two ranks, each bound to a core of its own; the same program built with each MPI's compiler,"
            " runs in turn. Lines are medians, bands reach from the lowest to the highest run. Latency: lower"
            " is better; the others: higher is better."
        ),
    )
    for sweep in results.get("sizes", []):
        draw_sweep(section, sweep)
    draw_relative(section, results.get("sizes", []))
    rows = results.get("messages", [])
    add_targets(section, rows)
    for row in rows:
        ours = row["medians"]["hawser"]
        if row["label"] == "latency 8 B (us)":
            section.headline.append((f"{short(ours)} us", "latency of 8 B in shared memory" + beside(row)))
        if row["label"] == "message rate 8 B (/s)":
            section.headline.append(
                (f"{short(ours / 1e6)} M/s", "messages of 8 B between two ranks" + beside(row))
            )
    return section
