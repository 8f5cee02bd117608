#!/usr/bin/env python3
"""The default against one path and one engine, and against the papers' policies, in the simulator.

Production code in virtual time, on fat trees (one for each rail) with the leaves and spines of one of 144 hosts, as many
hosts as ranks, links of 1 GB/s and four LIDs a port; an engine of two makes 600 MB/s. A row is a pattern, a size, a
class of traffic, so many rails and engines, and a set of routing tables (even, or drawn from a seed); its times are
those of a round in microseconds, by the slowest process, mean of 10 rounds after 3 (or --warm-up N). Beside them stands
the bound: what the busiest link takes if every flow is divided over its rails and ways as well as can be (hawser fabric
topology --flows). A cell is the row of the even tables, or the medians of the rows of the uneven ones.

Ranks that are exactly alike repeat one of several courses, and chance decides which. So every rank begins every round
up to 200 ns late; a time is the median over some seeds of that, as many as the column `starts` says.

A row is kept when it is done, and a row that is there stays if it is of the same starts and warm-up (column `warm-up`)
and has every setting that is wanted, unless --anew is given. A single column can be measured anew if the row's other
columns are of the same starts and warm-up; the bound stays.

usage: run.py --build DIR [--jobs N] [--only TEXT] [--output FILE]    run the rows that the CSV lacks
       run.py --build DIR --ten-seeds [--output FILE]                 chosen patterns on ten sets of uneven tables
       run.py --build DIR --doubtful [--output FILE] [--warm-up N]    cells where the default is behind, with other seeds
       run.py --build DIR --column NAME [--output FILE]               one column of an existing CSV anew
       run.py --table [--output FILE]                                 medians of the CSV, as Markdown
       run.py --picture FILE [--output FILE]                          the same as a picture
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile

import cells

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from reproduce.simulated import Results, checked, compiled, measure  # noqa: E402
RATE = 1e9
ENGINE = 600e6
LMC = 2
ROUNDS, WARM_UP = 10, 3
# Seeds of the starts for --doubtful, which no row of cells.csv has.
OTHER_STARTS = range(11, 16)


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


KEYS = ("ranks", "pattern", "bytes", "class", "rails", "engines", "seed")
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
# For --ten-seeds: patterns, sizes in KiB, classes.
TEN_SEEDS = range(1, 11)
CHOSEN = [(24, "ring:12", {"nonblocking": (256,)}), (24, "ring:7", {"nonblocking": (64, 256)}),
          (48, "random:1", {"nonblocking": (64, 256)}), (24, "alltoall", {"collective": (64,)})]


def rows_wanted(arguments):
    patterns = CHOSEN if arguments.ten_seeds else PATTERNS
    for rails, engines, seeds in PORTS:
        for ranks, pattern, classes in patterns:
            for traffic, sizes in classes.items():
                for kib in sizes:
                    for seed in TEN_SEEDS if arguments.ten_seeds else seeds:
                        yield {"ranks": ranks, "pattern": pattern, "bytes": kib * 1024, "class": traffic, "rails": rails,
                               "engines": engines, "seed": seed}


def starts_of(row):
    """Seeds, more of them where a run is short."""
    point_to_point = row["pattern"].startswith(("ring", "random", "bisection")) and row["class"] != "window"
    return range(1, 4) if point_to_point and row["bytes"] <= 262144 else range(1, 2)


def key_of(row):
    return tuple(str(row[name]) for name in KEYS)


def tables(seed):
    return ["--shuffle-seed", str(seed)] if seed else []


def time_of(build, directory, row, setting, warm_up, starts):
    parameters = ["--parameters", str(directory / "engines")] if row["engines"] > 1 else []
    return float(checked([str(build / "bin/hawser"), "sim", "exec", "-n", str(row["ranks"]), "--fabric", "fat-tree-144",
                          "--rails", str(row["rails"]), "--lmc", str(LMC), "--rate", "1GB/s", "--latency", "100ns",
                          "--compute-scale", "0", "--quiet", *parameters, *tables(row["seed"]), str(directory / "patterns"),
                          row["pattern"], str(row["bytes"]), row["class"], str(ROUNDS), str(warm_up),
                          str(starts)], setting))


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


def program_in(build, directory):
    compiled(build, [HERE / "patterns.c"], directory)
    (directory / "engines").write_text(f"send-engines 2 send-engine-rate {ENGINE / 1e6:.0f}MB/s "
                                       f"receive-engines 2 receive-engine-rate {ENGINE / 1e6:.0f}MB/s chunk 4K\n")


def wanted_rows(arguments):
    """key -> row, seeds of the starts, settings: what the CSV should have."""
    if arguments.doubtful:
        doubtful = [(row, cells.rivals(times)) for key, (rows, times) in cells.with_rows(HERE / "cells.csv").items()
                    if cells.is_doubtful(key, times) for row in rows]
        wanted = [({name: row[name] if name in ("pattern", "class") else int(row[name]) for name in KEYS}, OTHER_STARTS, names)
                  for row, names in doubtful]
    else:
        wanted = [(row, starts_of(row), list(settings_of(row["rails"], row["engines"]))) for row in rows_wanted(arguments)]
    return {key_of(each[0]): each for each in wanted}


def is_of(known, seeds, arguments):
    return (known["starts"], known["warm-up"]) == (str(len(seeds)), str(arguments.warm_up))


def measure_rows(arguments, results, wanted, chosen):
    """Medians over seeds of the starts, of these rows and settings; each row is kept when it is done."""
    build = arguments.build.resolve()
    bounds = {}

    def bound(row):
        key = (row["ranks"], row["pattern"], row["rails"], row["seed"], row["class"] == "window")
        if key not in bounds:
            bounds[key] = bound_of(build, row, row["pattern"]) / row["bytes"]
        return f"{bounds[key] * row['bytes']:.1f}"

    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        program_in(build, directory)

        def finished(row):
            _, seeds, names = chosen[key_of(row)]
            settings = settings_of(row["rails"], row["engines"])
            known = (results.find(**row) or [{}])[0]
            times = {name: statistics.median(time_of(build, directory, row, settings[name], arguments.warm_up, seed)
                                             for seed in seeds) for name in names}
            return [{**dict.fromkeys(COLUMNS, ""), **(known if arguments.column else {}),
                     "bound": known.get("bound") or bound(row), "starts": len(seeds), "warm-up": arguments.warm_up,
                     **{name: f"{time:.1f}" for name, time in times.items()}}]

        measure(results, [row for row, _, _ in wanted.values()], KEYS, [row for row, _, _ in chosen.values()], finished,
                arguments.jobs)


def run_all(arguments):
    """For --doubtful too: what a cell says that was picked because it is high is too high, so it has other seeds."""
    results = Results(arguments.output, KEYS, ("bound", "starts", "warm-up", *COLUMNS))
    wanted = wanted_rows(arguments)
    results.rows = [] if arguments.anew else [row for row in results.rows if key_of(row) in wanted]
    chosen = {}
    for key, (row, seeds, names) in wanted.items():
        if arguments.only not in ",".join(key):
            continue
        known = (results.find(**row) or [None])[0]
        same = known is not None and is_of(known, seeds, arguments)
        if arguments.column and not same:
            raise SystemExit(f"{arguments.output}: {','.join(key)} has no medians over {len(seeds)} starts after "
                             f"{arguments.warm_up} rounds, as '{arguments.column}' would be: measure all columns anew")
        if arguments.column and arguments.column in names:
            chosen[key] = row, seeds, [arguments.column]
        elif not arguments.column and not (same and all(known[name] for name in names)):
            chosen[key] = row, seeds, names
    measure_rows(arguments, results, wanted, chosen)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="rows that contain this, such as 48,random:1,65536,nonblocking,1,1")
    parser.add_argument("--column", help="measure only this setting anew, such as auto")
    parser.add_argument("--warm-up", type=int, default=WARM_UP, metavar="ROUNDS")
    parser.add_argument("--anew", action="store_true", help="measure rows as well that the file has")
    parser.add_argument("--ten-seeds", action="store_true", help="chosen patterns on ten sets of tables (ten_seeds.csv)")
    parser.add_argument("--doubtful", action="store_true", help="cells where the default is behind, once more (doubtful.csv)")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--picture", type=pathlib.Path, help="file to draw the CSV into")
    arguments = parser.parse_args()
    if not (arguments.build or arguments.table or arguments.picture):
        parser.error("one of --build DIR, --table and --picture FILE is needed")
    if arguments.output is None:
        name = "doubtful" if arguments.doubtful else "ten_seeds" if arguments.ten_seeds else "cells"
        after = "" if arguments.warm_up == WARM_UP else f"_after_{arguments.warm_up}"
        arguments.output = HERE / f"{name}{after}.csv"
    if arguments.build:
        run_all(arguments)
    if arguments.table:
        cells.print_table(cells.read(arguments.output))
    if arguments.picture:
        arguments.picture.write_text(cells.picture(cells.read(arguments.output)))


if __name__ == "__main__":
    sys.exit(main())
