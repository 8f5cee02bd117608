"""Section: collectives in shared memory, small multiples of operation x ranks."""
from .axes import bytes_axis, log_axis, named_axis
from .charts import line_chart
from .figures import geometric_mean, size_label, spread, with_range
from .libraries import LABELS, curve, keys, values
from .page import Figure, Section, Table, Target

SMALL = {"width": 400, "height": 250, "left": 62}


def single(rows, library, x):
    """A Series of a library over x(row); runs that did not end are left out."""
    return curve(library, {x(row): [pair[0] for pair in row["samples"][library] if pair] for row in rows})


def draw_operation(section, operation, rows, libraries):
    for processes in sorted({row["processes"] for row in rows}):
        mine = [row for row in rows if row["processes"] == processes]
        series = [single(mine, library, lambda row: row["bytes"]) for library in libraries]
        y = log_axis("time of a call (us)", values(series))
        svg = line_chart(
            f"{operation}, {processes} ranks",
            series,
            bytes_axis([row["bytes"] for row in mine]),
            y,
            size_label,
            "us",
            **SMALL,
        )
        section.figures.append(Figure(svg, f"{operation}, {processes} ranks", keys(series), small=True))


def draw_barrier(section, rows, libraries):
    ranks = sorted({row["processes"] for row in rows})
    series = [single(rows, library, lambda row: ranks.index(row["processes"])) for library in libraries]
    svg = line_chart(
        "barrier",
        series,
        named_axis("ranks", ranks),
        log_axis("time of a call (us)", values(series)),
        lambda i: f"{ranks[i]} ranks",
        "us",
        **SMALL,
    )
    section.figures.append(Figure(svg, "barrier over ranks", keys(series), small=True))


def shade(ratio, worst):
    return "best" if ratio <= 0.9 else "worse" if ratio > worst else "close"


def ratio_table(rows, worst):
    """A row for each operation, a column for each number of ranks and size."""
    sizes = sorted({row["bytes"] for row in rows} - {0}) or [0]
    ranks = sorted({row["processes"] for row in rows})
    # A barrier has no size: its ratio stands in the first column of its ranks.
    ratios = {(row["operation"], row["processes"], row["bytes"] or sizes[0]): row["ratio"] for row in rows}
    body = []
    for operation in dict.fromkeys(row["operation"] for row in rows):
        cells = [ratios.get((operation, processes, size)) for processes in ranks for size in sizes]
        body.append(
            [
                operation,
                *(
                    "" if ratio is None else (f"{ratio:.2f}", f'"number {shade(ratio, worst)}"')
                    for ratio in cells
                ),
            ]
        )
    return Table(
        f"Ratio to the better peer (green: 0.9 or less; red: above {worst})",
        [
            "",
            *((f"{processes} ranks, {size_label(size)}", "number") for processes in ranks for size in sizes),
        ],
        body,
        open=True,
    )


def sentences(section, rows, summary, libraries):
    rated = [row for row in rows if row["ratio"] is not None]
    for processes in sorted({row["processes"] for row in rated}):
        mine = {
            row["operation"] + (" " + size_label(row["bytes"]) if row["bytes"] else ""): row["ratio"]
            for row in rated
            if row["processes"] == processes
        }
        worst = max(mine, key=mine.get)
        section.seen.append(
            f"<b>{processes} ranks</b>: {geometric_mean(mine.values()):.2f} times the better peer's time in"
            f" geometric mean over {len(mine)} cells; ahead in {sum(ratio <= 1 for ratio in mine.values())};"
            f" worst {worst} ({mine[worst]:.2f})."
        )
    for library in libraries[1:]:
        late = [row for row in rows if None in row["samples"][library]]
        if late:
            ranks = sorted({row["processes"] for row in late})
            section.seen.append(
                f"{LABELS[library]} did not get through in 30 s in {len(late)} of {len(rows)} cells (with "
                f"{' or '.join(map(str, ranks))} ranks); they have no point and are not in the ratios."
            )
    if summary:
        target = summary["target"]
        worst = summary["worst"]
        section.targets += [
            Target(
                "geometric mean of all cells",
                f"{summary['geometric_mean']:.2f}",
                f"<= {target['mean']}",
                summary["geometric_mean"] <= target["mean"],
            ),
            Target(
                (
                    f"worst cell ({worst['operation']} {size_label(worst['bytes'])},"
                    f" {worst['processes']} ranks; {summary['above']} of {summary['cells']} above)"
                ),
                f"{worst['ratio']:.2f}",
                f"<= {target['worst']}",
                worst["ratio"] <= target["worst"],
            ),
        ]
        section.headline.append(
            (
                f"{summary['geometric_mean']:.2f}",
                "of the better peer's time over all collectives (geometric mean)",
            )
        )


def draw(results):
    section = Section(
        "collectives",
        "Collectives in shared memory",
        (
            "Time of one call, the mean over the ranks, lower quartile of many batches; calls are a barrier"
            " apart. Lower is better. With more ranks than cores a call consists of switches between"
            " processes, which every library waits for in its own way."
        ),
    )
    rows = results.get("collectives", [])
    if not rows:
        return section
    libraries = list(rows[0]["samples"])
    sentences(section, rows, results.get("collectives_summary"), libraries)
    for operation in dict.fromkeys(row["operation"] for row in rows):
        mine = [row for row in rows if row["operation"] == operation]
        if operation == "barrier":
            draw_barrier(section, mine, libraries)
        else:
            draw_operation(section, operation, mine, libraries)
    section.tables.append(
        ratio_table(
            rows, (results.get("collectives_summary") or {"target": {"worst": 1.2}})["target"]["worst"]
        )
    )
    body = [
        [
            row["operation"],
            str(row["processes"]),
            size_label(row["bytes"]) if row["bytes"] else "",
            *(
                with_range(spread([pair and pair[0] for pair in row["samples"][library]]))
                for library in libraries
            ),
        ]
        for row in rows
    ]
    section.tables.append(
        Table(
            "us: median (lowest to highest) of the runs",
            ["operation", "ranks", "size", *map(LABELS.get, libraries)],
            body,
        )
    )
    return section
