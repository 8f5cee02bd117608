#!/usr/bin/env python3
"""What collective operations take of which several are under way. In the simulator, with areas on each node.

Each line has a layout (nodes x ranks on each), an operation, how many are under way (0: one that blocks), bytes and the
latency in microseconds until the slowest rank ends. Each cell is a job of its own, because some times depend on what
ran before. Links, costs and warm-up are those of run.py.

usage: under_way.py --build DIR [--layouts 2x4 ...] [--operations reduce ...] [--under-way 1 4 ...]
"""

import argparse
import concurrent.futures
import pathlib
import tempfile

from run import ALGORITHMS, FABRIC, HERE, checked, compiled

SIZES = [8, 128, 512, 2048, 8192, 16384, 32768, 65536]
MOST_BLOCK = 8192
# Their sizes are those of the whole vector.
VECTORS = ["barrier", "broadcast", "reduce", "allreduce"]


def sizes_of(operation):
    if operation == "barrier":
        return SIZES[:1]
    return [size for size in SIZES if operation in VECTORS or size <= MOST_BLOCK]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--layouts", nargs="+", default=["2x4", "8x4", "16x2"])
    parser.add_argument("--operations", nargs="+", default=list(ALGORITHMS))
    parser.add_argument("--under-way", nargs="+", type=int, default=[0, 1, 2, 4])
    parser.add_argument("--rate", default="12.5GB/s")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as jobs:
        program = compiled(build, [HERE / "under_way.c"], folder)

        def measure(cell):
            layout, operation, count, size = cell
            nodes, each = (int(number) for number in layout.split("x"))
            text = checked([build / "bin/hawser", "sim", "exec", "-n", nodes * each, "--ppn", each, *FABRIC, "--areas", "--rate",
                            arguments.rate, program, operation, size, size, count, 5])
            return f"{layout} {text.strip()}"

        cells = [(layout, operation, count, size) for layout in arguments.layouts for operation in arguments.operations
                 for count in arguments.under_way for size in sizes_of(operation)]
        for line in jobs.map(measure, cells):
            print(line, flush=True)


if __name__ == "__main__":
    main()
