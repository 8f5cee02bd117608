"""Which of the figures of bench/compare miss their goals beyond doubt (--gate).

Libraries run in turn, so each round has a ratio to the better peer of its own, and what slows a round down slows
all of them. A cell misses its goal if the confidence interval of the median ratio lies wholly on its wrong side.
"""
import math
import statistics
from typing import Any, NamedTuple

from report_page.figures import geometric_mean

CONFIDENCE = 0.95
# Below that, not even the least and the greatest of all rounds enclose the median with this confidence.
LEAST_ROUNDS = 6
# Of each power of two and of collectives with the barrier: the geometric mean of all cells, and each of them.
SIZES = {"latency": (0.85, 1.0, 1), "bw": (1.2, 1.0, 1024), "bibw": (1.2, 1.0, 1024), "mbw_mr": (1.5, 1.0, 1)}
COLLECTIVES = (0.45, 1.0)


class Cell(NamedTuple):
    label: str
    samples: Any  # {mpi: [figure of each round, or None]}
    lower: bool  # is better
    goal: Any  # for the ratio to the better peer; None: none


class Missed(NamedTuple):
    label: str
    ratio: float
    interval: tuple
    lower: bool
    goal: float


def ranks_of_interval(rounds, confidence=CONFIDENCE):
    """How many of the least and of the greatest of so many values lie outside the interval of their median
    (distribution-free, by the binomial distribution of one half); None: there are too few."""
    outside, tail = None, 0.0
    for k in range(rounds // 2):
        tail += math.comb(rounds, k) / 2 ** rounds
        if 1 - 2 * tail < confidence:
            break
        outside = k
    return outside


def interval_of_median(values):
    outside = ranks_of_interval(len(values))
    if outside is None:
        return None
    ordered = sorted(values)
    return ordered[outside], ordered[-1 - outside]


def ratios_by_round(cell):
    """Ours to the peer that is the better one by its median; empty without one."""
    peers = {name: values for name, values in cell.samples.items()
             if name != "hawser" and values and None not in values}
    if not peers:
        return []
    better = (min if cell.lower else max)(peers.values(), key=statistics.median)
    return [ours / theirs for ours, theirs in zip(cell.samples["hawser"], better)]


def misses(interval, lower, goal):
    """Whether even the better end of the interval misses the goal."""
    return interval[0] > goal if lower else interval[1] < goal


def judge(cell):
    """Missed, or None where the cell has no goal, no peer, or does not miss its goal beyond doubt."""
    ratios = ratios_by_round(cell)
    interval = interval_of_median(ratios) if cell.goal is not None else None
    if interval is None or not misses(interval, cell.lower, cell.goal):
        return None
    return Missed(cell.label, statistics.median(ratios), interval, cell.lower, cell.goal)


def judge_mean(label, cells, goal):
    """The geometric mean of cells that have a peer in each round, as one cell."""
    means = [geometric_mean(ratios) for ratios in zip(*map(ratios_by_round, cells))]
    return judge(Cell(label, {"hawser": means, "peer": [1.0] * len(means)}, cells[0].lower, goal))


def message_cells(report):
    """A goal of a figure that is itself a ratio, to a loop by hand, is for that figure."""
    for row in report.get("messages", []):
        samples = row["samples"] if row["to_peers"] else {"hawser": row["samples"]["hawser"],
                                                          "hand": [1.0] * len(row["samples"]["hawser"])}
        yield Cell(row["label"], samples, row["lower"], row["target"])


def size_cells(sweep, size_label):
    _, goal, least = SIZES[sweep["benchmark"]]
    for i, size in enumerate(sweep["bytes"]):
        if size >= least:
            yield Cell(f"{sweep['benchmark']} {size_label(size)}",
                       {name: [taken[i] for taken in rounds] for name, rounds in sweep["samples"].items()},
                       sweep["lower"], goal)


def collective_cells(rows, size_label):
    for row in rows:
        size = size_label(row["bytes"]) if row["bytes"] else ""
        yield Cell(f"{row['operation']} {size} x{row['processes']} with the barrier",
                   {name: [pair and pair[1] for pair in pairs] for name, pairs in row["samples"].items()},
                   True, COLLECTIVES[1])


def judge_report(report, size_label):
    """All that misses, and how many cells were judged."""
    judged, missed = 0, []

    def take(cells, mean=None):
        nonlocal judged
        cells = [cell for cell in cells if cell.goal is not None and ratios_by_round(cell)]
        judged += len(cells)
        missed.extend(map(judge, cells))
        if mean is not None and cells:
            judged += 1
            missed.append(judge_mean(f"{mean[0]}, geometric mean", cells, mean[1]))

    take(message_cells(report))
    for sweep in report.get("sizes", []):
        take(size_cells(sweep, size_label), (sweep["benchmark"], SIZES[sweep["benchmark"]][0]))
    for group in ("collectives", "calls"):
        take(collective_cells(report.get(group, []), size_label), (f"{group} with the barrier", COLLECTIVES[0]))
    return [cell for cell in missed if cell is not None], judged


def print_missed(report, size_label):
    """The number of cells that miss their goals beyond doubt, each printed."""
    missed, judged = judge_report(report, size_label)
    print(f"\n{len(missed)} of {judged} cells miss their goals with {CONFIDENCE:.0%} confidence"
          + (" (ratio to the better peer; interval of its median):" if missed else ""))
    for label, ratio, (low, high), lower, goal in missed:
        print(f"{label:44}{ratio:9.3f}   {low:.3f} to {high:.3f}   wanted {'<=' if lower else '>='} {goal}")
    return len(missed), judged
