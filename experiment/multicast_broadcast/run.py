#!/usr/bin/env python3
"""Broadcasts by multicast against trees, in the simulator (M06, figures 6 to 12).

Production code in virtual time, on a fat tree with two rails of 1 GB/s. A cell is a layout (nodes x ranks on each), a
way and a size; its time is the latency in microseconds, from the root's begin to the slowest rank's end.

usage: run.py --build DIR [--layouts 16x2 2x4 ...] [--output FILE]    run all cells, write them as CSV
       run.py --table [--output FILE]                                 the CSV as Markdown
"""

import argparse
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Name of a column: variables of the environment.
WAYS = {
    "binomial": {"HAWSER_MULTICAST": "off", "HAWSER_COLLECTIVE_ALGORITHM": "broadcast=binomial"},
    "trees": {"HAWSER_MULTICAST": "off"},
    "multicast": {"HAWSER_MULTICAST": "always"},
    "auto": {"HAWSER_MULTICAST": "auto"},
}
LAYOUTS = ["16x2", "2x4", "4x2", "16x1", "64x8"]
MOST = {"64x8": 65536}
SHOWN = [8, 128, 1024, 2048, 8192, 65536, 1048576]


def checked(command, environment=None):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def run(build, layouts, output):
    with tempfile.TemporaryDirectory() as folder, open(output, "w", newline="", encoding="ascii") as file:
        program = str(pathlib.Path(folder) / "broadcast")
        checked([str(build / "bin/mpicc"), "-O2", "-o", program, str(HERE / "broadcast.c")])
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["layout", "way", "bytes", "microseconds"])
        for layout in layouts:
            nodes, each = (int(number) for number in layout.split("x"))
            for way, variables in WAYS.items():
                text = checked([str(build / "bin/hawser"), "sim", "exec", "-n", str(nodes * each), "--ppn", str(each), "--rate",
                                "1GB/s", "--latency", "300ns", "--compute-scale", "0", "--quiet", program,
                                str(MOST.get(layout, 1048576)), "9"], {**os.environ, **variables})
                for line in text.splitlines():
                    rows.writerow([layout, way, *line.split()])
                file.flush()


def table(output):
    with open(output, encoding="ascii") as file:
        cells = {(row["layout"], row["way"], int(row["bytes"])): float(row["microseconds"]) for row in csv.DictReader(file)}
    print("| nodes x ranks | bytes | binomial us | trees us | multicast us | auto us | trees / multicast | binomial / multicast |")
    print("|---|---|---|---|---|---|---|---|")
    for layout in dict.fromkeys(key[0] for key in cells):
        for size in SHOWN:
            if (layout, "multicast", size) not in cells:
                continue
            binomial, trees, multicast, auto = (cells[layout, way, size] for way in WAYS)
            print(f"| {layout} | {size} | {binomial:.1f} | {trees:.1f} | {multicast:.1f} | {auto:.1f} | {trees / multicast:.2f} | "
                  f"{binomial / multicast:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--layouts", nargs="+", default=LAYOUTS)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "cells.csv")
    arguments = parser.parse_args()
    if arguments.build:
        run(arguments.build.resolve(), arguments.layouts, arguments.output)
    if arguments.table:
        table(arguments.output)
    return 0 if arguments.build or arguments.table else parser.error("--build or --table")


if __name__ == "__main__":
    sys.exit(main())
