"""Section: computing and communicating at once, as S06 shows it (figures 4 to 7 of Sur et al.)."""
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
# Figure 6, against write: around 50 % faster, and where the receiver computes only with interrupts.
FASTER_COMPUTATION, PAPERS_FASTER = 1500, 50
PAPERS_HPL_GAIN = 30
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


def draw_bars(section, title, rows, groups, axes, figure_of):
    """A bar for each scheme and row; `axes` are the names of both and the unit."""
    series = [
        (style, label, [3 * (figure_of(row[scheme]),) for row in rows])
        for scheme, (style, label, _) in SCHEMES.items()
    ]
    most = max(value for _, _, found in series for each in found for value in each)
    svg = bar_chart(title, groups, series, axes[0], linear_axis(axes[1], most), axes[2], **SHAPE)
    section.figures.append(Figure(svg, title, [(style, label, "bar") for style, label, _ in series]))


def draw_faster(section, rows):
    """Figure 6."""
    rows = [
        row for row in rows if (row["bytes"], row["computation_us"]) == (PAPERS_BYTES, FASTER_COMPUTATION)
    ]
    if not rows:
        return
    title = f"1 MiB beside {FASTER_COMPUTATION} us"
    groups = [f"the {row['computes']} computes" for row in rows]
    draw_bars(section, title, rows, groups, ("", "until both are over (us)", "us"), lambda time: time)
    for row in rows:
        faster = 100 * (row["write"] / row["interrupt"] - 1)
        section.targets.append(
            Target(
                f"{title}, the {row['computes']} computes, against write (S06: around {PAPERS_FASTER} % faster)",
                f"{short(faster)} % faster",
                f">= {PAPERS_FASTER} %",
                faster >= PAPERS_FASTER,
            )
        )


def draw_hpl(section, rows):
    """Figure 7 (a)."""
    title = "MPI_Wait in HPL"
    axes = ("ranks", "in MPI_Wait (ms)", "ms")
    draw_bars(section, title, rows, [row["ranks"] for row in rows], axes, lambda found: found["MPI_Wait_ms"])
    table = []
    for row in rows:
        for scheme, (_, label, _) in SCHEMES.items():
            times = [f"{row[scheme][key]:.2f}" for key in ("MPI_Wait_ms", "waits_ms", "whole_ms")]
            table.append([str(row["ranks"]), str(row["size"]), label, *times])
    head = ["ranks", "N", "scheme", "MPI_Wait (ms)", "all calls that wait (ms)", "whole (ms)"]
    section.tables.append(Table(title, head, table))
    row = rows[-1]
    section.seen.append(
        f"<b>HPL</b> of HPCC 1.5.0 is in MPI_Wait for {100 * row['write']['MPI_Wait_ms'] / row['write']['whole_ms']:.0f} %"
        " of the time: it waits where it exchanges rows and computes nothing between MPI_Irecv and MPI_Wait. So"
        f" neither reads nor interrupts shorten that; S06 has {PAPERS_HPL_GAIN} % less with both, for 32 processes."
    )


def draw_exchange(section, rows):
    axes = ("ranks", "in MPI_Wait (ms)", "ms")
    groups = [row["ranks"] for row in rows]
    title = "MPI_Wait in a neighbour exchange"
    draw_bars(section, title, rows, groups, axes, lambda found: found["waited_ms"])
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
            " neighbour exchange communicates as NAS SP does (figure 7 b); HPL (figure 7 a) is that of HPCC."
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
    draw_faster(section, rows)
    if exchange := kept.get("exchange"):
        draw_exchange(section, exchange)
    if hpl := kept.get("hpl"):
        draw_hpl(section, hpl)
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
