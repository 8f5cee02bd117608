#!/usr/bin/env python3
"""HPCC again and again on a virtual fabric, each time under other random faults; every check must be passed in every run.

Faults: cables out, switches dead, hosts cut off on both rails, black holes, losses, slow links, killed queue pairs. A run's schedule
follows from its seed, which is printed: `--seed S --runs 1` repeats it. What a failed run left is kept. Exit code 1 if a
run failed, 2 if something did not work.
"""
import argparse
import pathlib
import random
import re
import shutil
import sys

import bandwidth
import outcome
import paths
from runner import HOSTS, RAILS, ROOT, build, end_when_told, our_command, run_hpcc
from hawser_lab import Failed
from hawser_lab.testbed import Testbed

# (how often, longest in seconds, the fault, what heals it); {h} and {r}: a host and a rail.
KINDS = (
    (6, 3.0, ("link n{h}/hw{r} down",), ("link n{h}/hw{r} up",)),
    (3, 0.05, ("link n{h}/hw{r} down",), ("link n{h}/hw{r} up",)),
    (2, 2.0, tuple(f"link n{{h}}/hw{rail} down" for rail in range(RAILS)), tuple(f"link n{{h}}/hw{rail} up" for rail in range(RAILS))),
    (2, 3.0, ("switch switch{r} dead",), ("switch switch{r} alive",)),
    (2, 1.5, ("link n{h}/hw{r} blackhole both",), ("link n{h}/hw{r} clear",)),
    (1, 1.5, ("link n{h}/hw{r} blackhole in",), ("link n{h}/hw{r} clear",)),
    (1, 2.0, ("link n{h}/hw{r} loss 0.02",), ("link n{h}/hw{r} clear",)),
    (1, 3.0, ("link n{h}/hw{r} rate 10%",), ("link n{h}/hw{r} clear",)),
    (2, 0.0, ("qp n{h}/hw{r} any kill",), ()),
)


def schedule(seed, seconds):
    """Lines `<seconds> <fault>`: a fault every second or so until then; all of them are healed."""
    draw = random.Random(seed)
    entries, busy, at = [], {}, 1.0
    while at < seconds:
        _, longest, faults, heals = draw.choices(KINDS, [kind[0] for kind in KINDS])[0]
        place = {"h": draw.randrange(HOSTS), "r": draw.randrange(RAILS)}
        end = at + longest * draw.uniform(0.2, 1)
        faults, heals = ([text.format(**place) for text in texts] for texts in (faults, heals))
        things = [" ".join(text.split()[:2]) for text in faults]
        if all(busy.get(thing, 0) < at for thing in things):  # a second fault's healing would heal the first
            entries += [(at, text) for text in faults] + [(end, text) for text in heals]
            busy.update((thing, end) for thing in things)
        at += draw.uniform(0.2, 2)
    return "".join(f"{at:.3f} {text}\n" for at, text in sorted(entries, key=lambda entry: entry[0]))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release", help="the folder of the build")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/hpcc-campaign", help="folder for failed runs")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, help="of the first run; default: drawn")
    parser.add_argument("--seconds", type=float, default=60, help="of faults; a run ends when it ends (%(default)s)")
    parser.add_argument("--size", type=int, default=3000, help="N of Linpack; the other tests take theirs from it (%(default)s)")
    parser.add_argument("--ranks", type=int, default=4, choices=(4, 8))
    parser.add_argument("--limit", type=float, default=600, help="seconds after which a run has failed (%(default)s)")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error(f"--runs {options.runs}: at least 1")
    return options


def one(options, testbed, program, seed):
    """Whether the run was right, after printing a line about it."""
    folder = testbed.folder / f"seed-{seed}"
    folder.mkdir()
    run = run_hpcc(testbed, folder, our_command(testbed, program, options.ranks), size=options.size, ranks=options.ranks,
                   schedule=schedule(seed, options.seconds), limit=options.limit, say=lambda _: None,
                   variables={"HAWSER_NETWORK": "rails"})
    failed = [verdict for verdict in outcome.judge(run.report()) if not verdict.passed]
    ended = "timed out" if run.timed_out else f"exit code {run.code}"
    good = not failed and run.code == 0 and not run.timed_out
    faults = [text for _, text in bandwidth.read_record(run.record()).faults]
    story = paths.tell(paths.read_events(run.event_logs()))
    outages = sum(len(path.outages) for path in story.paths.values())
    troubles = sum(re.search(r"\b(up|alive|clear)$", text) is None for text in faults)
    print(f"seed {seed}: {'PASSED' if good else 'FAILED'}, {ended} after {run.seconds:.1f} s; {troubles} faults, {outages} outages of "
          f"paths, {len(story.partitions)} times no path to a peer, {story.reissued} bytes sent once more", flush=True)
    if not good:
        outcome.show(failed)
        print(run.output)
        kept = options.out / f"seed-{seed}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept)
        print(f"  kept: {kept}", flush=True)
    shutil.rmtree(folder)
    return good


def main():
    options = parse_arguments()
    end_when_told()
    first = random.randrange(1 << 30) if options.seed is None else options.seed
    try:
        with Testbed(options.build) as testbed:
            program = build(testbed.bin / "mpicc", "hawser")
            wrong = [seed for seed in range(first, first + options.runs) if not one(options, testbed, program, seed)]
    except Failed as problem:
        print(f"hpcc-campaign: {problem}", file=sys.stderr)
        return 2
    print(f"{options.runs - len(wrong)} of {options.runs} runs passed" + (f"; failed: seeds {', '.join(map(str, wrong))}" if wrong else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
