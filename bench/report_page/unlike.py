"""Section: rails that are not alike: InfiniBand of two rates; Ethernet beside InfiniBand."""
from .axes import linear_axis, time_axis
from .charts import Level, Span, area_chart, bar_chart
from .figures import short, size_label, spread
from .page import Figure, Section
from .rails import rows_table, targets_of, unlike_curve
from .timelines import TALL, of_bins


def draw_together(section, kept):
    """Ethernet, InfiniBand, both."""
    found = {name: spread(kept[name]) for name in ("ethernet", "infiniband", "both")}
    whole = found["ethernet"][0] + found["infiniband"][0]
    svg = bar_chart(
        "Ethernet beside InfiniBand",
        ["Ethernet alone", "InfiniBand alone", "both", "sum"],
        [
            (
                "hawser",
                "Hawser",
                [found["ethernet"], found["infiniband"], found["both"], (whole, whole, whole)],
            )
        ],
        "",
        linear_axis(f"bandwidth at {size_label(kept['bytes'])} (MB/s)", 1.05 * max(whole, found["both"][2])),
        "MB/s",
    )
    section.figures.append(
        Figure(
            svg,
            (
                f"Ethernet of {kept['nominal'][1]} MB/s beside InfiniBand of {kept['nominal'][0]} MB/s,"
                f" messages of {size_label(kept['bytes'])}"
            ),
        )
    )
    verdict = (
        "more than InfiniBand alone"
        if found["both"][0] > found["infiniband"][0]
        else "less than InfiniBand alone"
    )
    section.seen.append(
        f"<b>Ethernet beside InfiniBand</b>: both together carry {short(found['both'][0])} MB/s at"
        f" {size_label(kept['bytes'])}, {found['both'][0] / whole:.1%} of the sum, {verdict}."
    )


def draw_cuts(section, run):
    begin, end = run["bins"][0][0], run["bins"][-1][0]
    rates = of_bins(run["bins"], begin, end + 1)
    seconds = len(rates) * 0.1

    def at(name):
        return min(seconds, (run[name] - begin) / 1e9)

    spans = [Span(at("cut"), at("healed"), "InfiniBand cut"), Span(at("both_cut"), at("back"), "both cut")]
    svg = area_chart(
        "Ethernet beside InfiniBand, cut",
        rates,
        0.1,
        time_axis(seconds),
        linear_axis("MB/s", 1.05 * max(rate for each in rates for rate in each), most=5),
        ["both rails"],
        spans,
        [Level(run["ethernet"], f"Ethernet: {run['ethernet']} MB/s")] if "ethernet" in run else [],
        **TALL,
    )
    section.figures.append(
        Figure(
            svg,
            "InfiniBand and Ethernet together: InfiniBand is cut, comes back, then both are cut",
            [("rail0", "received", "area")],
            wide=True,
        )
    )


def draw(results):
    section = Section(
        "unlike",
        "Unlike rails",
        (
            "Rails of different speed: two of InfiniBand, one of which is slower than its nominal rate says;"
            " and plain Ethernet (TCP through a network namespace) beside InfiniBand. A slow rail must never"
            " make it slower, and should add what it can."
        ),
    )
    for kept in results.get("speed", {}).get("data", {}).get("unlike", []):
        unlike_curve(section, kept)
    data = results.get("ethernet", {}).get("data", {})
    for kept in data.get("together", []):
        draw_together(section, kept)
    for run in data.get("cuts", []):
        draw_cuts(section, run)
    for name in ("speed", "ethernet"):
        rows = results.get(name, {}).get("rows", [])
        section.targets += targets_of(rows)
        if rows:
            section.tables.append(rows_table(rows, f"All rows of bench/rails/report.py {name}"))
    return section
