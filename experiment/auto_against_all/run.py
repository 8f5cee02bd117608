#!/usr/bin/env python3
"""The default policy with four paths against one path and against the papers' policies, in the simulator.

Production code in virtual time, on a fat tree of 144 hosts with links of 1 GB/s. A cell is a pattern, a size and a set
of routing tables (even, or drawn from a seed); its times are those of a round in microseconds, by the slowest process,
mean of 10 rounds after 3. Beside them stands the bound: what the busiest link takes if every flow is divided over its
four ways as well as can be (hawser fabric topology --flows).

usage: run.py --build DIR [--jobs N] [--seeds S ...] [--output FILE]    run all cells, write them as CSV
       run.py --table [--output FILE]                                   geometric means of the CSV, as Markdown
       run.py --picture FILE [--output FILE]                            the same as a picture
"""

import argparse
import concurrent.futures
import csv
import math
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RATE = 1e9
LMC = 2
ROUNDS, WARM_UP = 10, 3
# Name of a column: paths, policy.
SETTINGS = {"one path": (1, "auto"), "auto": (4, "auto"), "even": (4, "even"), "adaptive": (4, "adaptive"),
            "round_robin": (4, "round_robin"), "bss(4,3)": (4, "bss(4,3)")}
# Ranks, pattern, sizes in KiB.
PATTERNS = [(24, "ring:12", (64, 256, 1024)), (24, "ring:7", (64, 256, 1024)), (24, "drc", (64, 256)), (24, "alltoall", (64, 256)),
            (48, "alltoall", (64,)), (24, "allgather", (64, 256)), (24, "reducescatter", (64, 256)),
            (48, "random:1", (64, 256, 1024)), (48, "random:2", (64, 256, 1024)), (48, "random:3", (64, 256, 1024)),
            (48, "bisection", (64, 256, 1024))]


def tables(seed):
    return ["--shuffle-seed", str(seed)] if seed else []


def checked(command, environment=None):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def time_of(build, program, ranks, pattern, size, seed, setting):
    paths, policy = SETTINGS[setting]
    environment = {**os.environ, "HAWSER_RAIL_PATHS": str(paths), "HAWSER_RAIL_POLICY": policy}
    return float(checked([str(build / "bin/hawser"), "sim", "exec", "-n", str(ranks), "--fabric", "fat-tree-144", "--lmc",
                          str(LMC), "--rate", "1GB/s", "--latency", "100ns", "--compute-scale", "0", "--quiet", *tables(seed),
                          program, pattern, str(size), str(ROUNDS), str(WARM_UP)], environment))


def permutation(ranks, seed):
    """As random_pairs in patterns.c draws it."""
    to = list(range(ranks))
    state = (seed * 2654435761 + 12345) % 2**64
    for i in range(ranks - 1, 0, -1):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        j = (state >> 33) % (i + 1)
        to[i], to[j] = to[j], to[i]
    return to


def flows_of(ranks, pattern):
    name, _, number = pattern.partition(":")
    if name in ("ring", "bisection"):
        return f"displaced-ring:{number or ranks // 2}:{ranks}"
    if name == "random":
        return ",".join(f"n{i}/hw0>n{j}/hw0" for i, j in enumerate(permutation(ranks, int(number))) if i != j)
    return f"all-to-all:{ranks}"


def bound_of(build, ranks, pattern, size, seed):
    """Microseconds."""
    if pattern in ("allgather", "reducescatter"):  # each host receives so much
        return (ranks - 1) * size / RATE * 1e6
    if pattern == "drc":  # one ring after the other
        return sum(bound_of(build, ranks, f"ring:{step}", size, seed) for step in range(1, ranks))
    text = checked([str(build / "bin/hawser"), "fabric", "topology", "fat-tree-144", "--lmc", str(LMC), *tables(seed),
                    "--flows", flows_of(ranks, pattern), "--lid-offset", "all"])
    line = next(line for line in text.splitlines() if line.startswith("busiest link"))
    return float(line.split(": ")[1].split()[0]) * size / RATE * 1e6


def run(arguments):
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as directory:
        program = str(pathlib.Path(directory) / "patterns")
        checked([str(build / "bin/mpicc"), "-O2", "-o", program, str(HERE / "patterns.c")])
        cells = [(ranks, pattern, kib * 1024, seed) for ranks, pattern, sizes in PATTERNS for kib in sizes
                 for seed in arguments.seeds]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool, open(arguments.output, "w", newline="") as out:
            rows = csv.writer(out, lineterminator="\n")
            rows.writerow(["ranks", "pattern", "bytes", "seed", "bound", *SETTINGS])
            parts = [(cell, pool.submit(bound_of, build, *cell),
                      [pool.submit(time_of, build, program, *cell, setting) for setting in SETTINGS]) for cell in cells]
            for cell, bound, times in parts:
                rows.writerow([*cell, f"{bound.result():.1f}", *(f"{time.result():.1f}" for time in times)])
                out.flush()


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def means_of_cells(arguments):
    """(pattern, KiB, tables) -> name of a column -> geometric mean."""
    with open(arguments.output, newline="") as file:
        rows = list(csv.DictReader(file))
    groups = {}
    for row in rows:
        pattern = row["pattern"].partition(":")[0]
        key = (f"{pattern} of {row['ranks']}", int(row["bytes"]) // 1024, "even" if row["seed"] == "0" else "uneven")
        groups.setdefault(key, []).append(row)
    return {key: {name: geometric_mean([float(row[name]) for row in group]) for name in ("bound", *SETTINGS)}
            for key, group in groups.items()}, len(rows)


def table(arguments):
    cells, tables_run = means_of_cells(arguments)
    print("| pattern | KiB | tables | bound | " + " | ".join(SETTINGS) + " | auto / best |")
    print("|---|---|---|---|" + "---|" * (len(SETTINGS) + 1))
    ratios, over_bound = [], []
    for key, means in cells.items():
        best = min(means[name] for name in SETTINGS if name != "auto")
        ratios.append(means["auto"] / best)
        over_bound.append(means["auto"] / means["bound"])
        print("| " + " | ".join([*map(str, key), *(f"{means[name]:.0f}" for name in ("bound", *SETTINGS)),
                                 f"{ratios[-1]:.2f}"]) + " |")
    print(f"\n{len(ratios)} cells, {tables_run} tables: auto / best: geometric mean {geometric_mean(ratios):.3f}, "
          f"greatest {max(ratios):.2f}; auto / bound: geometric mean {geometric_mean(over_bound):.2f}, "
          f"greatest {max(over_bound):.2f}")


COLOURS = {"one path": "#d62728", "auto": "#1f77b4", "even": "#9a9a9a", "adaptive": "#b0a060", "round_robin": "#c8c8c8",
           "bss(4,3)": "#7fa07f"}


def picture(arguments):
    """A row for each cell, a dot for each setting: its time as a multiple of the bound, on a logarithmic scale."""
    cells, _ = means_of_cells(arguments)
    left, right, top, step = 250, 780, 60, 17
    height = top + step * len(cells) + 30
    place = lambda ratio: left + (right - left) * math.log(max(ratio, 1)) / math.log(10)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 {height}" font-family="sans-serif" font-size="11">',
           f'<rect width="820" height="{height}" fill="white"/>',
           '<text x="10" y="18" font-size="13">Time of a round as a multiple of the bound, fat tree of 144 hosts, four LIDs</text>']
    for i, (name, colour) in enumerate(COLOURS.items()):
        out.append(f'<circle cx="{left + 90 * i}" cy="34" r="4" fill="{colour}"/>'
                   f'<text x="{left + 90 * i + 8}" y="38">{name}</text>')
    for ratio in (1, 1.5, 2, 3, 5, 10):
        out.append(f'<line x1="{place(ratio):.1f}" y1="{top - 10}" x2="{place(ratio):.1f}" y2="{height - 24}" stroke="#e0e0e0"/>'
                   f'<text x="{place(ratio):.1f}" y="{height - 8}" text-anchor="middle">{ratio:g}</text>')
    for i, ((pattern, kib, kind), means) in enumerate(cells.items()):
        y = top + step * i
        out.append(f'<text x="10" y="{y + 4}">{pattern}, {kib} KiB, {kind}</text>')
        for name in sorted(COLOURS, key=lambda name: name == "auto"):  # auto on top
            out.append(f'<circle cx="{place(means[name] / means["bound"]):.1f}" cy="{y}" r="4" fill="{COLOURS[name]}"/>')
    arguments.picture.write_text("\n".join([*out, "</svg>", ""]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4, 5], help="of the tables; 0: even")
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "cells.csv")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--picture", type=pathlib.Path, help="file to draw the CSV into")
    arguments = parser.parse_args()
    if not (arguments.build or arguments.table or arguments.picture):
        parser.error("one of --build DIR, --table and --picture FILE is needed")
    if arguments.build:
        run(arguments)
    if arguments.table:
        table(arguments)
    if arguments.picture:
        picture(arguments)


if __name__ == "__main__":
    sys.exit(main())
