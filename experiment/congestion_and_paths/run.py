#!/usr/bin/env python3
"""What congestion marks and adaptive routing do beside several paths, in the simulator (V07, chapter 11).

Production code in virtual time, on the fat tree of 144 hosts with links of 1 GB/s and four LIDs a port. A row is a
traffic (traffic.c), a set of routing tables (even, or drawn from a seed), and a setting: who moves long messages (the
receiver by reads, which is the default, or the sender by writes: adapters slow down only what they send unasked, so
marks act on writes alone), one path or the default, and what switches and adapters do:
    plain      nothing
    marks      switches mark packets beyond 4 KiB of queue, adapters slow down as annex A10 says, with its timer
    quick      the same with a timer of 10 us, so that adapters soon are as fast as before
    adaptive   switches choose the least loaded of the equally long ways, packet by packet
Times are in microseconds: the mean of all ranks, and the slowest rank of each round, mean of rounds; with incast those
of the messages of bystanders, mean and slowest pair, and beside them the MB/s that reach the crowded process.

usage: run.py --build DIR [--jobs N] [--only TEXT] [--anew] [--output FILE]    run all rows, write them as CSV; what is there stays
       run.py --table [--output FILE]                                 medians of the CSV, as Markdown
       run.py --picture FILE [--output FILE]                          the same as a picture
"""

import argparse
import concurrent.futures
import csv
import os
import pathlib
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from reproduce.simulated import checked, compiled  # noqa: E402

sys.path.insert(0, str(HERE.parent / "auto_against_all"))  # its bounds and its picture

import cells  # noqa: E402
import run as patterns  # noqa: E402

NETWORKS = {"plain": "", "marks": "ecn-threshold 4K congestion-control on",
            "quick": "ecn-threshold 4K congestion-control on ccti-timer 10us", "adaptive": "adaptive-routing on"}
# Question -> name of a column -> who moves messages, HAWSER_RAIL_PATHS, network.
QUESTIONS = {
    "marks, by writes": {"neither": ("write", "1", "plain"), "marks": ("write", "1", "marks"),
                         "quick marks": ("write", "1", "quick"), "paths": ("write", "auto", "plain"),
                         "paths and marks": ("write", "auto", "marks"),
                         "paths and quick marks": ("write", "auto", "quick")},
    "adaptive routing, by writes": {"neither": ("write", "1", "plain"), "adaptive": ("write", "1", "adaptive"),
                                    "paths": ("write", "auto", "plain"),
                                    "paths and adaptive": ("write", "auto", "adaptive")},
    "by reads": {"neither": ("read", "1", "plain"), "paths": ("read", "auto", "plain")},
}
COLOURS = {"neither": "#d62728", "marks": "#e0a050", "quick marks": "#e8c8a8", "adaptive": "#2ca02c",
           "paths and marks": "#9467bd", "paths and quick marks": "#c5b0d5", "paths and adaptive": "#98df8a",
           "paths": "#1f77b4"}
# Ranks, pattern, bytes, rounds, rounds before.
TRAFFIC = [(24, "ring:12", 1 << 20, 15, 5), (24, "ring:12", 1 << 16, 40, 20), (48, "random:1", 1 << 20, 10, 5),
           (24, "alltoall", 1 << 16, 10, 5), (48, "incast:2", 1 << 18, 10, 3)]
SEEDS = (0, 3)  # 0: even tables
KEY = ("ranks", "pattern", "bytes", "seed", "rendezvous", "paths", "network")


def rows_wanted(only):
    settings = dict.fromkeys(setting for question in QUESTIONS.values() for setting in question.values())
    for ranks, pattern, size, *rounds in TRAFFIC:
        for seed in SEEDS:
            for rendezvous, paths, network in settings:
                row = {"ranks": ranks, "pattern": pattern, "bytes": size, "seed": seed, "rendezvous": rendezvous,
                       "paths": paths, "network": network}
                if only in ",".join(map(str, row.values())):
                    yield row, rounds


def key_of(row):
    return tuple(str(row[name]) for name in KEY)


def known_bounds():
    """What the busiest link takes if all flows are divided as well as can be, for each byte, as auto_against_all has it:
    (ranks, pattern, seed) -> microseconds."""
    with open(HERE.parent / "auto_against_all/cells.csv", newline="", encoding="ascii") as file:
        return {(int(row["ranks"]), row["pattern"], int(row["seed"])): float(row["bound"]) / int(row["bytes"])
                for row in csv.DictReader(file)
                if row["rails"] == "1" and row["engines"] == "1" and row["class"] in ("nonblocking", "collective")}


def bound_of(bounds, row):
    """Of a bystander of incast: the time of its message alone."""
    if row["pattern"].startswith("incast"):
        return row["bytes"] / patterns.RATE * 1e6
    return bounds[row["ranks"], row["pattern"], row["seed"]] * row["bytes"]


def times_of(build, directory, row, rounds):
    output = checked(
        [str(build / "bin/hawser"), "sim", "exec", "-n", str(row["ranks"]), "--fabric", "fat-tree-144", "--rails", "1",
         "--lmc", str(patterns.LMC), "--rate", "1GB/s", "--latency", "100ns", "--compute-scale", "0", "--quiet", "--parameters",
         str(directory / row["network"]), *patterns.tables(row["seed"]), str(directory / "traffic"), row["pattern"],
         str(row["bytes"]), *map(str, rounds)],
        {"HAWSER_RAIL_RENDEZVOUS": row["rendezvous"], "HAWSER_RAIL_PATHS": row["paths"]})
    mean, slowest, *crowd = output.split()
    return {"mean": mean, "slowest": slowest, "crowd": crowd[0] if crowd else ""}


def run(arguments):
    build = arguments.build.resolve()
    known = {}
    if arguments.output.exists():
        with open(arguments.output, newline="", encoding="ascii") as file:
            known = {key_of(row): row for row in csv.DictReader(file)}
    bounds = known_bounds()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        compiled(build, [HERE / "traffic.c"], directory)
        for network, text in NETWORKS.items():
            (directory / network).write_text(text + "\n")

        def finished(wanted):
            row, rounds = wanted
            if key_of(row) in known and not arguments.anew:
                return known[key_of(row)]
            return {**row, "bound": f"{bound_of(bounds, row):.1f}", **times_of(build, directory, row, rounds)}

        wanted = list(rows_wanted(arguments.only))
        done = dict(known)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for row in pool.map(finished, wanted):
                done[key_of(row)] = row
                write(arguments.output, done)


def write(output, rows):
    order = {key_of(row): place for place, (row, _) in enumerate(rows_wanted(""))}
    unfinished = output.with_suffix(".unfinished")
    with open(unfinished, "w", newline="", encoding="ascii") as file:
        out = csv.DictWriter(file, [*KEY, "bound", "mean", "slowest", "crowd"], lineterminator="\n")
        out.writeheader()
        out.writerows(rows[key] for key in sorted(rows, key=lambda key: order.get(key, len(order))))
    unfinished.replace(output)


def read(output):
    """(question, pattern, measure, KiB, tables) -> name of a column -> median; the same for the crowd's MB/s."""
    with open(output, newline="", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    lines = dict.fromkeys((row["pattern"], row["ranks"], row["bytes"], row["seed"] == "0") for row in rows)
    result, crowd = {}, {}
    for question, settings in QUESTIONS.items():
        for pattern, ranks, size, even in lines:
            for name, setting in settings.items():
                group = [row for row in rows if (row["pattern"], row["ranks"], row["bytes"], row["seed"] == "0") ==
                         (pattern, ranks, size, even) and (row["rendezvous"], row["paths"], row["network"]) == setting]
                if not group:
                    continue
                for measure in ("mean", "slowest"):
                    key = (question, f"{pattern} of {ranks}", measure, int(size) // 1024, "even" if even else "uneven")
                    cell = result.setdefault(key, {})
                    cell["bound"] = statistics.median(float(row["bound"]) for row in group)
                    cell[name] = statistics.median(float(row[measure]) for row in group)
                if group[0]["crowd"]:
                    crowd.setdefault(key, {})[name] = statistics.median(float(row["crowd"]) for row in group)
    return result, crowd


def print_table(output):
    result, crowd = read(output)
    for question, settings in QUESTIONS.items():
        print(f"{question}: mean, slowest\n")
        print("| traffic | KiB | tables | bound | " + " | ".join(settings) + " |")
        print("|" + "---|" * (len(settings) + 4))
        for key, slowest in result.items():
            if key[0] != question or key[2] != "slowest":
                continue
            mean = result[key[:2] + ("mean",) + key[3:]]
            print(f"| {key[1]} | {key[3]} | {key[4]} | {slowest['bound']:.0f} | " + " | ".join(
                f"{mean[name]:.0f}, {slowest[name]:.0f}" if name in mean else "" for name in settings) + " |")
            if key in crowd:
                print(f"| its crowd, MB/s |  | {key[4]} | 1000 | " + " | ".join(
                    f"{crowd[key][name]:.0f}" if name in mean else "" for name in settings) + " |")
        print()
        for name in settings:  # against doing nothing
            ratios = [times[name] / times["neither"] for key, times in result.items() if key[0] == question and name in times
                      and "neither" in times]
            if ratios:
                print(cells.summary(f"{name} / neither", ratios))
        print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="rows that contain this, such as 24,ring:12,65536,3,write")
    parser.add_argument("--anew", action="store_true", help="measure what is there, too")
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "cells.csv")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--picture", type=pathlib.Path, help="file to draw the CSV into")
    arguments = parser.parse_args()
    if not (arguments.build or arguments.table or arguments.picture):
        parser.error("one of --build DIR, --table and --picture FILE is needed")
    if arguments.build:
        run(arguments)
    if arguments.table:
        print_table(arguments.output)
    if arguments.picture:
        arguments.picture.write_text(cells.picture(
            read(arguments.output)[0], COLOURS,
            "Time as a multiple of the bound (incast: of a bystander's message on an idle network), medians",
            (1, 1.5, 2, 3, 5, 10, 20, 40), 340))


if __name__ == "__main__":
    sys.exit(main())
