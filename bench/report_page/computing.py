"""Section: computing and communicating at once, as S06 shows it (figures 4, 5 and 7 of Sur et al.)."""
from .axes import linear_axis
from .charts import Series, bar_chart, line_chart
from .figures import short, size_label
from .page import Figure, Section, Table, Target

# The style, and what the paper has for 1 MB with 1800 us of the receiver's computing, in percent.
SCHEMES = {
    "interrupt": ("hawser", "read with interrupts", 99.5),
    "read": ("ucx", "read, polling", 62.2),
    "write": ("openmpi", "write, polling", 59.0),
}
PAPERS_COMPUTATION, PAPERS_BYTES, PAPERS_GAIN = 1800, 1 << 20, 28
SHAPE = {"width": 480, "height": 270}


def share(row, scheme):
    return 100 * row["computation_us"] / row[scheme]


def draw_overlap(section, rows, size, who):
    mine = [row for row in rows if (row["bytes"], row["computes"]) == (size, who)]
    series = [
        Series(
            style, label, [(row["computation_us"], *3 * (share(row, scheme),)) for row in mine]
        )
        for scheme, (style, label, _) in SCHEMES.items()
    ]
    keys = [(style, label, False) for style, label, _ in SCHEMES.values()]
    if (size, who) == (PAPERS_BYTES, "receiver"):
        for style, label, paper in SCHEMES.values():
            series.append(Series(style, f"{label}, S06", [(PAPERS_COMPUTATION, paper, paper, paper)], True))
    title = f"{size_label(size)}, the {who} computes"
    svg = line_chart(
        title,
        series,
        linear_axis("computation (us)", max(row["computation_us"] for row in mine)),
        linear_axis("overlap (%)", 100),
        str,
        "%",
        **SHAPE,
    )
    section.figures.append(Figure(svg, title, keys))


def draw_exchange(section, rows):
    series = [
        (style, label, [3 * (row[scheme]["waited_ms"],) for row in rows])
        for scheme, (style, label, _) in SCHEMES.items()
    ]
    most = max(value for _, _, found in series for each in found for value in each)
    title = "MPI_Wait in a neighbour exchange"
    svg = bar_chart(
        title,
        [row["ranks"] for row in rows],
        series,
        "ranks",
        linear_axis("in MPI_Wait (ms)", most),
        "ms",
        **SHAPE,
    )
    section.figures.append(Figure(svg, title, [(style, label, "bar") for style, label, _ in series]))
    for row in rows:
        gain = 100 * (1 - row["interrupt"]["waited_ms"] / row["write"]["waited_ms"])
        section.targets.append(
            Target(
                f"MPI_Wait, {row['ranks']} ranks, against write (S06, NAS SP: {PAPERS_GAIN} %)",
                f"{short(gain)} % less",
                f">= {PAPERS_GAIN} %",
                gain >= PAPERS_GAIN,
            )
        )


def draw(results):
    section = Section(
        "computing",
        "Computing and communicating at once",
        (
            "In the simulator, with the network of S06 (one rail of 900 MB/s, interrupts of 18 us): one of two"
            " ranks begins a message, computes, and waits. Overlap is the computation's share of the whole"
            " time, as in that paper's figures 4 and 5; its values for 1 MB and 1800 us are drawn beside. The"
            " neighbour exchange communicates as NAS SP does (figure 7)."
        ),
    )
    kept = results.get("computing", {})
    rows = kept.get("overlap", [])
    for size in dict.fromkeys(row["bytes"] for row in rows):
        for who in ("sender", "receiver"):
            draw_overlap(section, rows, size, who)
    for row in rows:
        if (row["bytes"], row["computes"], row["computation_us"]) != (
            PAPERS_BYTES,
            "receiver",
            PAPERS_COMPUTATION,
        ):
            continue
        for scheme, (_, label, paper) in SCHEMES.items():
            section.seen.append(f"<b>{label}</b>: {share(row, scheme):.1f} %, S06 {paper} %.")
        ours = share(row, "interrupt")
        section.headline.append((f"{ours:.1f} %", "of 1800 us of computing hide 1 MiB; S06 99.5 %"))
    if exchange := kept.get("exchange"):
        draw_exchange(section, exchange)
    section.tables.append(
        Table(
            "Overlap (%)",
            ["bytes", "computes", "us", *(label for _, label, _ in SCHEMES.values())],
            [
                [
                    str(row["bytes"]),
                    row["computes"],
                    short(row["computation_us"]),
                    *(f"{share(row, scheme):.1f}" for scheme in SCHEMES),
                ]
                for row in rows
            ],
        )
    )
    return section
