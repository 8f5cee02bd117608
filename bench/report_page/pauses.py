"""Section: how long a stream stands still when something fails."""
from .axes import log_axis
from .charts import strip_chart
from .figures import percentile, short
from .page import Figure, Section, Table, Target


def both(values):
    return f"{short(percentile(values, .5))} / {short(percentile(values, .99))}" if values else "none"


def draw(results):
    section = Section(
        "pauses",
        "Pauses when something fails",
        (
            "A stream of 64 KiB messages over two rails of 200 MB/s while one fault after another takes a"
            " rail away and gives it back: the time from the fault to the first byte that is sent again over"
            " the other rail, a dot for each fault."
        ),
    )
    kept = results.get("pause", {}).get("data", {}).get("pauses", [])
    rows = []
    for kind in kept:
        whole = kind["whole_ms"]
        middle, most, limit = percentile(whole, 0.5), percentile(whole, 0.99), kind["limit_ms"]
        rows.append((kind["label"], whole, middle, most, limit))
        section.targets.append(
            Target(
                f"{kind['label']} ({len(whole)} faults), p99",
                f"{short(most)} ms",
                f"<= {limit} ms",
                most <= limit,
            )
        )
        section.seen.append(
            f"<b>{kind['label']}</b>: median {short(middle)} ms, p99 {short(most)} ms,"
            f" {'within' if most <= limit else 'above'} the {limit} ms that are wanted; longest"
            f" {short(max(whole))} ms of {len(whole)} faults."
        )
    if rows:
        found = [value for _, whole, _, _, limit in rows for value in [*whole, limit]]
        # A fault noticed as soon as it happened has no place on a logarithmic axis.
        least = max(0.05, min(value for value in found if value > 0))
        axis = log_axis("fault to first byte sent again (ms)", [least, *found], dense=True)
        svg = strip_chart("Pauses by kind of fault", rows, axis, "ms")
        section.figures.append(
            Figure(
                svg,
                "Pauses by kind of fault",
                [
                    ("hawser", "a fault", "dot"),
                    ("median", "median", "upright"),
                    ("p99", "99th percentile", "upright"),
                    ("limit", "target", "upright"),
                ],
                wide=True,
            )
        )
        slowest = max(rows, key=lambda row: row[2])
        for row in sorted(
            {id(row): row for row in (min(rows, key=lambda row: row[2]), slowest)}.values(),
            key=lambda row: row[2],
        ):
            section.headline.append((f"{short(row[2])} ms", f"median pause: {row[0]}"))
        if any(len(row[1]) <= 100 for row in rows):
            section.seen.append("Of 100 faults or fewer the 99th percentile is the longest.")
    section.tables.append(
        Table(
            "ms, p50 / p99",
            [
                "fault",
                "faults",
                "to detection",
                "detection to first byte sent again",
                "whole",
                "longest gap of the stream",
            ],
            [
                [
                    f"{kind['label']} ({kind['fault']})",
                    str(len(kind["whole_ms"])),
                    both(kind["detection_ms"]),
                    both(kind["reissue_ms"]),
                    both(kind["whole_ms"]),
                    both(kind["gap_ms"]),
                ]
                for kind in kept
            ],
        )
    )
    return section
