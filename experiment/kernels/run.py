#!/usr/bin/env python3
"""What several paths, rails and engines bring to kernels that communicate as NAS IS, FT, CG, LU and MG do (V07).

Production code in virtual time, on fat trees of 144 hosts (one for each rail) with links of 1 GB/s and four LIDs a
port; an engine of two makes 600 MB/s. Computing takes no time and buffers stay registered, so that a
time is that of communication alone. A row is a kernel, a class, a number of ranks, a kind of ports, a set of routing
tables (even, or drawn from a seed) and a setting; its time is that of the slowest rank in microseconds. Every run
checks its result.

usage: run.py --build DIR [--jobs N] [--only TEXT] [--anew] [--output FILE]    run all rows, write them as CSV; what is there stays
       run.py --table [--output FILE]                                 the CSV as Markdown
       run.py --build DIR --quick     small ones, none of which may be wrong, and spoilt ones, all of which have to be
"""

import argparse
import concurrent.futures
import csv
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from reproduce.simulated import compiled  # noqa: E402
KERNELS = ("is", "ft", "cg", "lu", "mg")
# Data move in pieces no larger than packets, so that requests wait behind no more.
PACKETS = "chunk 4K\n"
ENGINES = PACKETS + "send-engines 2 send-engine-rate 600MB/s receive-engines 2 receive-engine-rate 600MB/s\n"


def setting_of(paths, engines="1", policy="auto"):
    return {"HAWSER_RAIL_PATHS": paths, "HAWSER_RAIL_ENGINES": engines, "HAWSER_RAIL_POLICY": policy}


# Kind of ports -> rails, engines of a port, name of a column -> settings.
PORTS = {
    "one rail": (1, 1, {"one path": setting_of("1"), "default": {}}),
    "two rails": (2, 1, {"one path": setting_of("1"), "default": {}}),
    "two engines": (1, 2, {"one path": setting_of("1"), "epc": setting_of("1", "2", "epc"), "default": {},
                           "one engine": {"HAWSER_RAIL_ENGINES": "1"}}),
}
# Kernel, class, ranks.
SIZES = [*((kernel, "w", ranks) for kernel in KERNELS for ranks in (16, 64)),
         *((kernel, "s", 16) for kernel in KERNELS), *((kernel, "a", 16) for kernel in KERNELS),
         ("ft", "a", 64), ("is", "a", 64)]
SEEDS = (0, 3)  # 0: even tables
KEY = ("kernel", "class", "ranks", "ports", "seed", "setting")


def command_of(build, row, program, *arguments):
    rails, engines, _ = PORTS[row["ports"]]
    parameters = ["--parameters", str(program.parent / ("engines" if engines > 1 else "packets"))]
    tables = ["--shuffle-seed", str(row["seed"])] if row["seed"] else []
    return [str(build / "bin/hawser"), "sim", "exec", "-n", str(row["ranks"]), "--fabric", "fat-tree-144", "--rails",
            str(rails), "--lmc", "2", "--rate", "1GB/s", "--latency", "100ns", "--compute-scale", "0",
            "--registration-cost", "0us", "--quiet", *parameters,
            *tables, str(program), row["class"], *arguments]


def result_of(build, row, directory, *arguments):
    setting = PORTS[row["ports"]][2][row["setting"]]
    return subprocess.run(command_of(build, row, directory / row["kernel"], *arguments), env={**os.environ, **setting},
                          capture_output=True, text=True, check=False)


def compile_kernels(build, directory):
    for kernel in KERNELS:
        compiled(build, [HERE / f"{kernel}.c"], directory)
    (directory / "engines").write_text(ENGINES)
    (directory / "packets").write_text(PACKETS)


def rows_wanted(only):
    for kernel, size, ranks in SIZES:
        for ports, (_, _, settings) in PORTS.items():
            for seed in SEEDS:
                for setting in settings:
                    row = {"kernel": kernel, "class": size, "ranks": ranks, "ports": ports, "seed": seed, "setting": setting}
                    if only in ",".join(map(str, row.values())):
                        yield row


def key_of(row):
    return tuple(str(row[name]) for name in KEY)


def write(output, rows):
    order = {key_of(row): place for place, row in enumerate(rows_wanted(""))}
    unfinished = output.with_suffix(".unfinished")
    with open(unfinished, "w", newline="", encoding="ascii") as file:
        out = csv.DictWriter(file, [*KEY, "us"], lineterminator="\n")
        out.writeheader()
        out.writerows(rows[key] for key in sorted(rows, key=lambda key: order.get(key, len(order))))
    unfinished.replace(output)


def run(arguments):
    build, done = arguments.build.resolve(), {}
    if arguments.output.exists():
        with open(arguments.output, newline="", encoding="ascii") as file:
            done = {key_of(row): row for row in csv.DictReader(file)}
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        compile_kernels(build, directory)

        def finished(row):
            ended = result_of(build, row, directory)
            if ended.returncode != 0:
                raise SystemExit(f"{row} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
            return {**row, "us": ended.stdout.strip()}

        wanted = [row for row in rows_wanted(arguments.only) if arguments.anew or key_of(row) not in done]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for row in pool.map(finished, wanted):
                done[key_of(row)] = row
                write(arguments.output, done)


def quick(build):
    """Each kernel once, with and without a spoilt number; returns an exit code."""
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        compile_kernels(build, directory)
        for kernel in KERNELS:
            row = {"kernel": kernel, "class": "s", "ranks": 8, "ports": "two rails", "seed": 3, "setting": "default"}
            right, spoilt = result_of(build, row, directory), result_of(build, row, directory, "spoil")
            if right.returncode != 0:
                wrong += 1
                print(f"{kernel} ended with {right.returncode}:\n{right.stdout}{right.stderr}")
            elif spoilt.returncode != 1 or "the result is wrong" not in spoilt.stderr:
                wrong += 1
                print(f"{kernel} did not notice a wrong number ({spoilt.returncode}):\n{spoilt.stdout}{spoilt.stderr}")
            else:
                print(f"{kernel}: right, {right.stdout.strip()} us of communication")
    return 1 if wrong else 0


def table(output):
    with open(output, newline="", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    groups = {}
    for row in rows:
        key = (row["kernel"], row["class"], row["ranks"], row["ports"], "even" if row["seed"] == "0" else "uneven")
        groups.setdefault(key, {}).setdefault(row["setting"], []).append(float(row["us"]))
    alone = {}
    print("| kernel | class | ranks | ports | tables | one path, us | " +
          " | ".join(f"{name} / one path" for name in PORTS["two engines"][2] if name != "one path") + " |")
    print("|---|---|---|---|---|---|---|---|---|")
    for key, settings in groups.items():
        times = {name: statistics.median(each) for name, each in settings.items()}
        alone[key] = times
        ratios = (f"{times[name] / times['one path']:.3f}" if name in times else ""
                  for name in PORTS["two engines"][2] if name != "one path")
        print(f"| {' | '.join(key)} | {times['one path']:.0f} | {' | '.join(ratios)} |")
    print()
    for (kernel, size, ranks, ports, tables), times in alone.items():
        one = alone.get((kernel, size, ranks, "one rail", tables))
        if ports == "two rails" and one:
            print(f"{kernel} {size} on {ranks}, {tables}: two rails / one rail {times['default'] / one['default']:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="rows that contain this, such as ft,w,16,one rail")
    parser.add_argument("--anew", action="store_true", help="measure what is there, too")
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "figures.csv")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if not (arguments.build or arguments.table):
        parser.error("one of --build DIR and --table is needed")
    if arguments.quick:
        return quick(arguments.build.resolve())
    if arguments.build:
        run(arguments)
    if arguments.table:
        table(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
