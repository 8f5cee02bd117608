#!/usr/bin/env python3
"""Which algorithm does the table of costs choose, and is it the fastest? In the simulator.

Production code in virtual time, on a fat tree of full bandwidth with two rails. A cell is a rate of links, a layout
(nodes x ranks on each), an operation, a way (the default, one algorithm forced, or "before": the default of an older
build) and a size; its time is the latency in microseconds until the slowest rank ends. Each request and each completion
takes 250 ns of processor time, which is about what the library's instructions take; other computing and copying take
none, and buffers stay registered.

With --areas, the ranks of a node share areas, as they do in real jobs (HAWSER_COLLECTIVE_SHARED), and the cells go to
cells_areas.csv; without, a node's part goes by messages.

usage: run.py --build DIR [--areas] [--layouts 16x2 ...] [--operations gather ...] [--ways default ...] [--output FILE]
                                               run these cells, add them to the CSV in place of older ones
       run.py --table [--losses PERCENT]       the CSV as Markdown; or only what the default loses more in
"""

import argparse
import csv
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from reproduce.simulated import checked, compiled  # noqa: E402
ALGORITHMS = {
    "barrier": ["dissemination", "two_level"],
    "broadcast": ["binomial", "linear", "scatter_allgather", "two_level"],
    "reduce": ["binomial", "linear", "rabenseifner", "two_level"],
    "allreduce": ["recursive_doubling", "rabenseifner", "ring", "two_level"],
    "allgather": ["recursive_doubling", "bruck", "ring", "linear", "two_level"],
    "gather": ["binomial", "linear", "two_level"],
    "scatter": ["binomial", "linear", "two_level"],
    "alltoall": ["bruck", "linear", "pairwise", "two_level"],
    "reduce_scatter_block": ["recursive_halving", "pairwise", "two_level"],
}
LAYOUTS = ["2x4", "8x4", "16x2", "16x1", "64x8"]
MOST = 1 << 20
# Of a rank's whole buffer: a simulation of more takes long.
ROOM = {"2x4": 8 << 20, "8x4": 8 << 20, "16x2": 8 << 20, "16x1": 8 << 20, "64x8": 1 << 20}
FABRIC = ["--fabric", "fat-tree-144", "--rails", "2", "--latency", "300ns", "--compute-scale", "0", "--registration-cost",
          "0us", "--post-cost", "250ns", "--doorbell-per-post", "--completion-cost", "250ns", "--quiet"]
FIELDS = ["rate", "layout", "operation", "way", "bytes", "microseconds"]


def load(output):
    if not output.exists():
        return {}
    with open(output, encoding="ascii") as file:
        return {tuple(row[f] for f in FIELDS[:-1]): row["microseconds"] for row in csv.DictReader(file)}


def save(cells, output):
    with open(output, "w", newline="", encoding="ascii") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(FIELDS)
        rows.writerows([*key, cells[key]] for key in cells)


def run(arguments):
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(build, [HERE / "collectives.c"], folder)
        for layout in arguments.layouts:
            nodes, each = (int(number) for number in layout.split("x"))
            for operation in arguments.operations or ALGORITHMS:
                for way in arguments.ways or ["default", *ALGORITHMS[operation]]:
                    if way not in ["default", "before", *ALGORITHMS[operation]]:
                        continue
                    forced = way not in ("default", "before")
                    variables = {"HAWSER_COLLECTIVE_ALGORITHM": f"{operation}={way}"} if forced else {}
                    text = checked([str(build / "bin/hawser"), "sim", "exec", "-n", str(nodes * each), "--ppn", str(each), *FABRIC,
                                    *(["--areas"] if arguments.areas else []), "--rate", arguments.rate,
                                    program, operation, "8", str(MOST), str(arguments.room or ROOM.get(layout, MOST)), "9"], variables)
                    cells = load(arguments.output)
                    for line in text.splitlines():
                        _, size, microseconds = line.split()
                        cells[arguments.rate, layout, operation, way, size] = microseconds
                    save(cells, arguments.output)
                    print(layout, operation, way, flush=True)


def table(arguments):
    cells = load(arguments.output)
    ways = {}
    for rate, layout, operation, way, size in cells:
        ways.setdefault((rate, layout, operation, int(size)), []).append(way)
    print("| rate | nodes x ranks | operation | bytes | default us | loses to the best % | all us |")
    print("|---|---|---|---|---|---|---|")
    for (rate, layout, operation, size), known in sorted(ways.items()):
        times = {way: float(cells[rate, layout, operation, way, str(size)]) for way in known}
        if "default" not in times or rate != arguments.rate and arguments.rate != "all":
            continue
        best = min(time for way, time in times.items() if way != "before")
        loss = 100 * (times["default"] / best - 1)
        if loss < arguments.losses:
            continue
        shown = ", ".join(f"{way} {times[way]:.1f}" for way in ["before", *ALGORITHMS[operation]] if way in times)
        print(f"| {rate} | {layout} | {operation} | {size} | {times['default']:.1f} | {loss:.0f} | {shown} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--layouts", nargs="+", default=LAYOUTS)
    parser.add_argument("--operations", nargs="+")
    parser.add_argument("--ways", nargs="+")
    parser.add_argument("--rate", default="12.5GB/s", help="of each link, of two; 12.5GB/s and 1GB/s are in the CSV")
    parser.add_argument("--room", type=int)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--losses", type=float, default=-1000)
    parser.add_argument("--areas", action="store_true", help="the ranks of a node share areas")
    parser.add_argument("--output", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.output = arguments.output or HERE / ("cells_areas.csv" if arguments.areas else "cells.csv")
    if arguments.build:
        run(arguments)
    if arguments.table:
        table(arguments)
    return 0 if arguments.build or arguments.table else parser.error("--build or --table")


if __name__ == "__main__":
    sys.exit(main())
