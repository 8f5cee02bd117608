#!/usr/bin/env python3
"""The default against one path and one engine, and against the papers' policies, in the simulator.

Production code in virtual time, on fat trees (one for each rail) with the leaves and spines of one of 144 hosts, as many
hosts as ranks, links of 1 GB/s and four LIDs a port; an engine of two makes 600 MB/s. A row is a pattern, a size, a
class of traffic, so many rails and engines, and a set of routing tables (even, or drawn from a seed); its times are
those of a round in microseconds, by the slowest process, mean of 10 rounds after 3. Beside them stands the bound: what
the busiest link takes if every flow is divided over its rails and ways as well as can be (hawser fabric topology
--flows). A cell is the row of the even tables, or the medians of the rows of the uneven ones.

usage: run.py --build DIR [--jobs N] [--only TEXT] [--output FILE]    run all rows, write them as CSV
       run.py --build DIR --column NAME [--output FILE]               the same for one column of an existing CSV
       run.py --table [--output FILE]                                 medians of the CSV, as Markdown
       run.py --picture FILE [--output FILE]                          the same as a picture
"""

import argparse
import concurrent.futures
import csv
import os
import pathlib
import sys
import tempfile

import cells

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from reproduce.simulated import checked, compiled  # noqa: E402
RATE = 1e9
ENGINE = 600e6
LMC = 2
ROUNDS, WARM_UP = 10, 3


def settings_of(rails, engines):
    """Name of a column -> settings."""
    def of(paths, engines_used, policy):
        return {"HAWSER_RAIL_PATHS": str(paths), "HAWSER_RAIL_ENGINES": str(engines_used), "HAWSER_RAIL_POLICY": policy}
    settings = {"one path": of(1, 1, "auto"), "auto": {}, "even": of(4, engines, "even"),
                "adaptive": of(4, engines, "adaptive"), "round_robin": of(4, engines, "round_robin"),
                "bss": of(4, engines, f"bss({4 * rails * engines},{3 * rails * engines})")}
    if engines > 1:
        settings |= {f"one path, {policy}": of(1, engines, policy) for policy in ("epc", "round_robin")}
        settings["one engine"] = {"HAWSER_RAIL_ENGINES": "1"}
    return settings


COLUMNS = list(settings_of(1, 2))
# Ranks, pattern, sizes in KiB for each class.
POINT_TO_POINT = {"nonblocking": (64, 256, 1024), "blocking": (64, 256, 1024), "window": (64,), "put": (256,)}
PATTERNS = [*((ranks, pattern, POINT_TO_POINT) for ranks, pattern in (
    (24, "ring:12"), (24, "ring:7"), (48, "random:1"), (48, "random:2"), (48, "random:3"), (48, "bisection"))),
    (24, "drc", {"nonblocking": (64, 256)}), (24, "alltoall", {"collective": (64, 256)}),
    (48, "alltoall", {"collective": (64,)}), (24, "allgather", {"collective": (64, 256)}),
    (24, "allgather:1", {"collective": (256,)}), (24, "reducescatter", {"collective": (64, 256)})]
# Rails, engines, seeds of the tables; 0: even.
PORTS = [(1, 1, range(4)), (2, 1, range(2)), (1, 2, range(2))]


def rows_wanted(only):
    for rails, engines, seeds in PORTS:
        for ranks, pattern, classes in PATTERNS:
            for traffic, sizes in classes.items():
                for kib in sizes:
                    for seed in seeds:
                        row = {"ranks": ranks, "pattern": pattern, "bytes": kib * 1024, "class": traffic, "rails": rails,
                               "engines": engines, "seed": seed}
                        if only in ",".join(map(str, row.values())):
                            yield row


def key_of(row):
    return tuple(str(row[name]) for name in ("ranks", "pattern", "bytes", "class", "rails", "engines", "seed"))


def tables(seed):
    return ["--shuffle-seed", str(seed)] if seed else []


def time_of(build, directory, row, setting):
    parameters = ["--parameters", str(directory / "engines")] if row["engines"] > 1 else []
    return float(checked([str(build / "bin/hawser"), "sim", "exec", "-n", str(row["ranks"]), "--fabric", "fat-tree-144",
                          "--rails", str(row["rails"]), "--lmc", str(LMC), "--rate", "1GB/s", "--latency", "100ns",
                          "--compute-scale", "0", "--quiet", *parameters, *tables(row["seed"]), str(directory / "patterns"),
                          row["pattern"], str(row["bytes"]), row["class"], str(ROUNDS), str(WARM_UP)],
                         setting))


def permutation(ranks, seed):
    """As patterns.c draws it."""
    to = list(range(ranks))
    state = (seed * 2654435761 + 12345) % 2**64
    for i in range(ranks - 1, 0, -1):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        j = (state >> 33) % (i + 1)
        to[i], to[j] = to[j], to[i]
    return to


def flows_of(row, pattern):
    name, _, number = pattern.partition(":")
    ranks = row["ranks"]
    if name in ("ring", "bisection"):
        return f"displaced-ring:{number or ranks // 2}:{ranks}"
    if name == "random":
        return ",".join(f"n{i}/hw{rail}>n{j}/hw{rail}" for i, j in enumerate(permutation(ranks, int(number)))
                        for rail in range(row["rails"]) if i != j)
    return f"all-to-all:{ranks}"


def bound_of(build, row, pattern):
    """Microseconds. All bytes of a host go through its ports, whose engines together make more than those."""
    if row["pattern"].startswith("allgather") or pattern == "reducescatter":  # each host receives so much
        return (row["ranks"] - 1) * row["bytes"] / row["rails"] / RATE * 1e6
    if pattern == "drc":  # one ring after the other
        return sum(bound_of(build, row, f"ring:{step}") for step in range(1, row["ranks"]))
    # A simulated fabric has as many hosts as there are ranks, and the tables that are drawn depend on how many.
    text = checked([str(build / "bin/hawser"), "fabric", "topology", "fat-tree-144", "--hosts", str(row["ranks"]), "--rails",
                    str(row["rails"]), "--lmc", str(LMC), *tables(row["seed"]), "--flows", flows_of(row, pattern),
                    "--lid-offset", "all"])
    line = next(line for line in text.splitlines() if line.startswith("busiest link"))
    messages = 16 if row["class"] == "window" else 1
    return float(line.split(": ")[1].split()[0]) * row["bytes"] * messages / RATE * 1e6


def run(arguments):
    build = arguments.build.resolve()
    bounds = {}
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        compiled(build, [HERE / "patterns.c"], directory)
        (directory / "engines").write_text(f"send-engines 2 send-engine-rate {ENGINE / 1e6:.0f}MB/s "
                                           f"receive-engines 2 receive-engine-rate {ENGINE / 1e6:.0f}MB/s chunk 4K\n")

        def bound(row):
            key = (row["ranks"], row["pattern"], row["rails"], row["seed"], row["class"] == "window")
            if key not in bounds:
                bounds[key] = bound_of(build, row, row["pattern"]) / row["bytes"]
            return bounds[key] * row["bytes"]

        def finished(row):
            settings = settings_of(row["rails"], row["engines"])
            if arguments.column:
                settings = {name: setting for name, setting in settings.items() if name == arguments.column}
            times = {name: f"{time_of(build, directory, row, setting):.1f}" for name, setting in settings.items()}
            return {**known[key_of(row)], **times} if known else {**row, "bound": f"{bound(row):.1f}", **times}

        wanted, known = list(rows_wanted(arguments.only)), {}
        if arguments.column:
            with open(arguments.output, newline="") as file:
                known = {key_of(row): row for row in csv.DictReader(file)}
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool, open(arguments.output, "w", newline="") as out:
            rows = csv.DictWriter(out, [*wanted[0], "bound", *COLUMNS], restval="", lineterminator="\n")
            rows.writeheader()
            for row in pool.map(finished, wanted):
                rows.writerow(row)
                out.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="rows that contain this, such as 48,random:1,65536,nonblocking,1,1")
    parser.add_argument("--column", help="measure only this setting anew, such as auto")
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "cells.csv")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--picture", type=pathlib.Path, help="file to draw the CSV into")
    arguments = parser.parse_args()
    if not (arguments.build or arguments.table or arguments.picture):
        parser.error("one of --build DIR, --table and --picture FILE is needed")
    if arguments.build:
        run(arguments)
    if arguments.table:
        cells.print_table(cells.read(arguments.output))
    if arguments.picture:
        arguments.picture.write_text(cells.picture(cells.read(arguments.output)))


if __name__ == "__main__":
    sys.exit(main())
