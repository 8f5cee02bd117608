"""Sections: bandwidth and latency over the rails of a virtual fabric; unlike rails."""
from .axes import bytes_axis, linear_axis, log_axis
from .charts import Level, escape, line_chart
from .figures import listed, short, size_label, spread, with_range
from .libraries import LABELS, compare, curve, keys, middles, values
from .page import Figure, Section, Table, Target

KIB = 1024


def by_size(runs):
    """{size: [figure of each run]} of [{"size": figure} of each run]."""
    found = {}
    for run in runs:
        for size, figure in run.items():
            found.setdefault(int(size), []).append(figure)
    return found


def rail_count(number):
    return f"{number} rail{'s' if number > 1 else ''}"


def targets_of(rows):
    """What bench/rails judged, with the beginning of the heading under which it did."""
    return [
        Target(
            f"{row['head'].split(',')[0].split(' (')[0]}: {row['label']}",
            row["figure"],
            row["criterion"],
            row["good"],
        )
        for row in rows
        if row["good"] is not None
    ]


def tell_failures(section, kept):
    for label, message in kept.get("failed", {}).items():
        last = (message.strip().splitlines() or ["?"])[-1]
        section.seen.append(f"{LABELS[label]} did not run: <code>{escape(last[:200])}</code>")


def draw_all_counts(section, measured):
    """One rail against two and four, and ib_write_bw's sum beside each."""
    series = []
    for kept in measured:
        name = rail_count(kept["rails"])
        series.append(
            curve(
                "hawser",
                by_size(kept["samples"]["hawser"]),
                label=f"Hawser, {name}",
                style=f"hawser-{kept['rails']}",
            )
        )
        series.append(
            curve("verbs", by_size(kept["samples"]["verbs"]), label=f"ib_write_bw, {name}", dashed=True)
        )
    sizes = sorted(by_size(measured[0]["samples"]["hawser"]))
    levels = [
        Level(kept["rails"] * kept["rate"], f"{rail_count(kept['rails'])} of {kept['rate']} MB/s")
        for kept in measured
    ]
    svg = line_chart(
        "Bandwidth over rails",
        series,
        bytes_axis(sizes),
        linear_axis("bandwidth one way (MB/s)", 1.02 * max(values(series))),
        size_label,
        "MB/s",
        levels,
        width=1120,
        height=380,
    )
    section.figures.append(
        Figure(
            svg,
            (
                f"Bandwidth with {listed(rail_count(kept['rails']) for kept in measured)}: Hawser against the"
                " sum of ib_write_bw on each rail alone"
            ),
            keys([s for s in series if s.style != "verbs"] + series[1:2]),
            wide=True,
        )
    )


def draw_count(section, kept):
    name = rail_count(kept["rails"])
    series = [curve(label, by_size(runs), dashed=label == "verbs") for label, runs in kept["samples"].items()]
    svg = line_chart(
        name,
        series,
        bytes_axis(sorted(middles(series[0]))),
        linear_axis("bandwidth one way (MB/s)", 1.02 * max(values(series))),
        size_label,
        "MB/s",
        [Level(kept["rails"] * kept["rate"], f"{kept['rails'] * kept['rate']} MB/s")],
    )
    section.figures.append(
        Figure(svg, f"{name} of {kept['rate']} MB/s, beside Open MPI on the same fabric", keys(series))
    )
    ours, verbs = series[0], next((each for each in series if each.style == "verbs"), None)
    peers = [each for each in series[1:] if each is not verbs and each.points]
    if verbs and verbs.points:
        shared = [size for size in middles(ours) if size in middles(verbs)]
        last = max(shared)
        section.seen.append(
            f"<b>{name}</b>: {short(middles(ours)[last])} MB/s at {size_label(last)},"
            f" {middles(ours)[last] / middles(verbs)[last]:.1%} of what ib_write_bw reaches on"
            f" {'it' if kept['rails'] == 1 else 'the rails one by one, added'}."
        )
    if peers:
        section.seen.append(compare(f"{name}, bandwidth beside Open MPI", ours, peers, False, size_label))
    tell_failures(section, kept)
    section.tables.append(
        Table(
            f"{name}, MB/s: median (lowest to highest) of the runs",
            ["size", *(each.label for each in series)],
            [
                [
                    size_label(size),
                    *(with_range({x: found for x, *found in each.points}.get(size)) for each in series),
                ]
                for size in sorted(middles(ours))
            ],
        )
    )


def draw_latency(section, kept):
    series = [
        curve(
            label, by_size(runs), label="ib_send_lat" if label == "verbs" else None, dashed=label == "verbs"
        )
        for label, runs in kept["samples"].items()
    ]
    svg = line_chart(
        "Latency over two rails",
        series,
        bytes_axis(sorted(middles(series[0]))),
        log_axis("half the round trip (us)", values(series)),
        size_label,
        "us",
    )
    section.figures.append(
        Figure(
            svg,
            "Latency over two rails, rates unlimited: what the software and the fabric's daemon take",
            keys(series),
        )
    )
    section.seen.append(compare("Latency over rails", series[0], series[1:], True, size_label))
    tell_failures(section, kept)
    section.tables.append(
        Table(
            "Latency, us: median (lowest to highest) of the runs",
            ["size", *(each.label for each in series)],
            [
                [
                    size_label(size),
                    *(with_range({x: found for x, *found in each.points}.get(size)) for each in series),
                ]
                for size in sorted(middles(series[0]))
            ],
        )
    )


def rows_table(rows, title="All rows that bench/rails printed"):
    return Table(
        title,
        ["of", "what", "measured", "wanted", ""],
        [
            [
                row["head"],
                row["label"],
                row["figure"],
                row["criterion"],
                "" if row["good"] is None else ("met", "good") if row["good"] else ("missed", "bad"),
            ]
            for row in rows
        ],
    )


def draw(results):
    section = Section(
        "rails",
        "Bandwidth and latency over rails",
        (
            "Two ranks on two hosts of the virtual fabric, a switch for each rail. The daemon that plays the"
            " network shares the cores with the ranks. The peers run on the same fabric, unmodified, through"
            " libibverbs."
        ),
    )
    for name in ("speed", "criteria"):
        kept = results.get(name, {})
        measured = [each for each in kept.get("data", {}).get("bandwidth", []) if each["samples"]["hawser"]]
        if len(measured) > 1:
            draw_all_counts(section, measured)
        for each in measured:
            draw_count(section, each)
        for each in kept.get("data", {}).get("latency", []):
            draw_latency(section, each)
        if kept.get("rows"):
            section.tables.append(
                rows_table(kept["rows"], f"All rows that bench/rails/report.py printed ({name})")
            )
        for each in measured:
            if each["rails"] == 2:
                ours = {
                    size: spread(figures)[0] for size, figures in by_size(each["samples"]["hawser"]).items()
                }
                section.headline.append(
                    (f"{short(max(ours.values()))} MB/s", f"over two rails of {each['rate']} MB/s")
                )
    # The criteria proper where they were measured, else what the curves tell of them.
    section.targets = targets_of(results.get("criteria", {}).get("rows", [])) or targets_of(
        results.get("speed", {}).get("rows", [])
    )
    return section


def unlike_curve(section, kept):
    rates = kept["rates"]
    both, alone = (
        curve(style, {int(size): figures for size, figures in kept[what].items()}, label=label, style=style)
        for style, what, label in (
            ("hawser", "both", "both rails"),
            ("hawser-1", "alone", "the fast rail alone"),
        )
    )
    total = spread(kept["totals"])[0]
    svg = line_chart(
        "Unlike rails",
        [both, alone],
        bytes_axis(sorted(middles(both))),
        linear_axis("bandwidth one way (MB/s)", 1.05 * total),
        size_label,
        "MB/s",
        [Level(total, f"ib_write_bw's sum: {short(total)} MB/s")],
    )
    section.figures.append(
        Figure(svg, f"InfiniBand rails of {rates[0]:g} and {rates[1]:g} MB/s", keys([both, alone]))
    )
    shares = [middles(both)[size] / middles(alone)[size] for size in middles(both)]
    last = max(middles(both))
    section.seen.append(
        f"<b>Rails of {rates[0]:g} and {rates[1]:g} MB/s</b>: with the slow one the bandwidth is"
        f" {min(shares):.1%} to {max(shares):.1%} of the fast one's alone; at"
        f" {size_label(last)} {middles(both)[last] / total:.1%} of the sum."
    )
