#!/usr/bin/env python3
"""Time of V11's patterns under a cap on connections, in the simulator: production code, virtual time.

One line of CSV for each cell, which depends on nothing but its columns:
messages by datagram (HAWSER_RAIL_DATAGRAMS), pattern, ranks, rounds, computing between rounds (us), cost of a queue pair (us), cap (0: none), victims, time (us),
time by that without a cap, queue pairs made, closed, peers connected with beyond the cap, most queue pairs of a process
at once, kB of packet buffers and of what is kept for peers per process at the end.

usage: run.py --build DIR [--datagrams N] [--ranks N] [--rounds N] [--computing US] [--costs US ...] [--parts N ... | --caps N ...]
              [--victims NAME ...] [--patterns NAME ...] [--jobs N]
       run.py --table [FILE]      those cells of a file that V11's figures 5 to 8 are about, as Markdown
"""

import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = "datagrams,pattern,ranks,rounds,computing_us,queue_pair_us,cap,victims,us,by_none,made,closed,beyond_cap,most,packet_kb,peer_kb"


def cell(build, program, directory, pattern, arguments, cost, cap, victims):
    result = pathlib.Path(directory) / f"{pattern}-{cost}-{cap}-{victims}.json"
    command = [str(build / "bin/hawser"), "sim", "exec", "-n", str(arguments.ranks), "--fabric", "fat-tree", "--rails", "1",
               "--compute-scale", "0", "--stack", "1M", "--quiet", "--queue-pair-cost", f"{cost}us", "--json", str(result),
               program, pattern, str(arguments.rounds), str(arguments.computing)]
    environment = {**os.environ, "HAWSER_PROGRESS": "interrupt", "HAWSER_CONNECTION_VICTIMS": victims,
                   "HAWSER_CONNECTIONS": str(cap) if cap > 0 else "auto", "HAWSER_RAIL_DATAGRAMS": str(arguments.datagrams)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    rails = json.loads(result.read_text())["rails"]
    return [float(done.stdout)] + [rails[name] for name in ("connections_made", "connections_closed", "connections_beyond_cap",
                                                            "queue_pairs_most")] + \
        [rails[name] // 1000 // arguments.ranks for name in ("packet_bytes", "peer_bytes")]


# Of a queue pair with HAWSER_RAIL_SEND_DEPTH requests, as `hawser info` states it.
QUEUE_PAIR_KB = 24.6


def table(file_name):
    """With messages by datagram, and computing as long as V11's processes do between two tear-downs."""
    with open(file_name, newline="", encoding="ascii") as file:
        rows = [row for row in csv.DictReader(file) if row["computing_us"] == "70000" and row["datagrams"] != "0"]
    print("| ranks | pattern | us a queue pair | cap | victims | time / none | closed | most queue pairs | MB of them, of everybody's |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        capped = row["cap"] != "0"
        most = int(row["most"]) * QUEUE_PAIR_KB / 1000
        everybody = (int(row["ranks"]) - 1) * QUEUE_PAIR_KB / 1000
        print(f"| {row['ranks']} | {row['pattern']} | {row['queue_pair_us']} | {row['cap'] if capped else 'none'} | "
              f"{row['victims'] if capped else ''} | {row['by_none']} | {row['closed']} | {row['most']} | {most:.2f}, {everybody:.1f} |")


def main():
    if sys.argv[1:2] == ["--table"]:
        return table(sys.argv[2] if len(sys.argv) > 2 else HERE / "figures.csv")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=64)
    parser.add_argument("--computing", type=int, default=10000, help="between rounds, in microseconds")
    parser.add_argument("--costs", type=int, nargs="+", default=[50, 200, 1000], help="of a queue pair, in microseconds")
    parser.add_argument("--parts", type=int, nargs="+", default=[4, 16, 128], help="caps: ranks divided by these")
    parser.add_argument("--caps", type=int, nargs="+", help="in place of --parts; 0: none")
    parser.add_argument("--victims", nargs="+", default=["lru", "lru_m"])
    parser.add_argument("--patterns", nargs="+", default=["neighbours", "arrays", "phases"])
    parser.add_argument("--datagrams", type=int, default=16, help="small messages before a peer is connected with")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory(prefix="hawser-connections-") as directory:
        program = f"{directory}/patterns"
        subprocess.run([str(build / "bin/mpicc"), "-O2", "-o", program, str(HERE / "patterns.c")], check=True)
        caps = arguments.caps or [0] + [max(1, arguments.ranks // part) for part in arguments.parts]
        kinds = [(cap, victims) for cap in caps for victims in arguments.victims[:1 if cap == 0 else None]]
        print(COLUMNS, flush=True)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for pattern in arguments.patterns:
                for cost in arguments.costs:
                    cells = [pool.submit(cell, build, program, directory, pattern, arguments, cost, *kind) for kind in kinds]
                    alone = cells[0].result()[0] if kinds[0][0] == 0 else float("nan")
                    for (cap, victims), each in zip(kinds, cells):
                        time, *counts = each.result()
                        print(arguments.datagrams, pattern, arguments.ranks, arguments.rounds, arguments.computing, cost, cap, victims, f"{time:.0f}",
                              f"{time / alone:.3f}", *counts, sep=",", flush=True)


if __name__ == "__main__":
    sys.exit(main())
