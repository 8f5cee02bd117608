#!/usr/bin/env python3
"""HPCC on a virtual fabric of 4 hosts with 2 rails: first undisturbed, then while a cable, a switch and a whole host fail.

Says whether every one of HPCC's own checks was passed, what happened to each path and when, the bandwidth over time (and
draws it), and both runs' times. Exit code 0 when all of it was right, 1 when a check failed, 2 when something did not work.
"""
import argparse
import json
import pathlib
import sys

import bandwidth
import outcome
import paths
from runner import (FABRIC, OPEN_MPI, RAILS, ROOT, SECOND, Step, build, end_when_told, open_mpi_command, our_command,
                    run_hpcc)
from hawser_lab import Failed, open_mpi
from hawser_lab.testbed import Testbed

# Each where HPCC communicates: a cable during its random access, a switch in its bandwidth test, and in Linpack a host
# that nobody reaches for two seconds.
PLAN = (
    Step("MPIRandomAccess", 2, "link n0/hw0 down"),
    Step("MPIRandomAccess", 12, "link n0/hw0 up"),
    Step("LatencyBandwidth", 6, "switch switch1 dead"),
    Step("LatencyBandwidth", 9, "switch switch1 alive"),
    *(Step("HPL", 1.5, f"link n2/hw{rail} down") for rail in range(RAILS)),
    *(Step("HPL", 3.5, f"link n2/hw{rail} up") for rail in range(RAILS)),
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release", help="the folder of the build")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/demo", help="folder for what is kept of the runs")
    parser.add_argument("--size", type=int, default=4000, help="N of Linpack; the other tests take theirs from it (%(default)s)")
    parser.add_argument("--ranks", type=int, default=4, choices=(4, 8))
    parser.add_argument("--limit", type=float, default=900, help="seconds after which a run has failed (%(default)s)")
    parser.add_argument("--compare", action="store_true", help="then the same with Open MPI, undisturbed and under the same faults")
    parser.add_argument("--compare-limit", type=float, default=300, help="seconds for each run of Open MPI (%(default)s)")
    return parser.parse_args()


def fresh(folder):
    """Empty but for what is not ours."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in ("hpccoutf.txt", "hpccinf.txt", "links.jsonl", "output", "schedule", "run.json", *(p.name for p in folder.glob("events.*"))):
        (folder / old).unlink(missing_ok=True)
    return folder


def panel(run, title):
    record = bandwidth.read_record(run.record())

    def there(at):
        return at / SECOND - record.origin
    return bandwidth.Panel(title, record, there(run.began), there(run.ended),
                           [(name, there(begin), there(end or run.ended)) for name, begin, end in run.sections])


def describe(run):
    if run.timed_out:
        return f"did not end within {run.seconds:.0f} s"
    return f"exit code {run.code} after {run.seconds:.1f} s"


def judge(run, label):
    """What failed of a run of ours, after printing its verdicts."""
    print(f"\n{label}: {describe(run)}; the fabric's lag: {run.lag}")
    if run.output.strip():
        print("    " + run.output.strip().replace("\n", "\n    "))
    verdicts = outcome.judge(run.report())
    outcome.show(verdicts)
    failed = [f"{label}: {verdict.test}: {verdict.why}" for verdict in verdicts if not verdict.passed]
    if run.timed_out or run.code != 0:
        failed.append(f"{label}: {describe(run)}")
    return failed


def missing_steps(run, plan):
    """What the plan has and the fabric did not do: a run without its faults shows nothing."""
    done = [text for _, text in bandwidth.read_record(run.record()).faults]
    return [f"the fault `{step.fault}` ({step.after} s into {step.section}) never came" for step in plan if step.fault not in done]


def keep_sections(run):
    """For bench/report: seconds of the monotonic clock."""
    seconds = {"began": run.began / SECOND, "ended": run.ended / SECOND, "code": run.code,
               "sections": [(name, begin / SECOND, (end or run.ended) / SECOND) for name, begin, end in run.sections]}
    (run.folder / "run.json").write_text(json.dumps(seconds), encoding="ascii")


def show_faulty(run):
    story = paths.tell(paths.read_events(run.event_logs()))
    print("\nWhat happened to each path, seconds since the start (HAWSER_EVENT_LOG):")
    for line in paths.lines(story, run.began):
        print("    " + line)
    print("\nWhat all adapters together sent, # over rail 0, = over rail 1:")
    for line in bandwidth.terminal(panel(run, "")):
        print(line)


def demonstrate(options, testbed):
    program = build(testbed.bin / "mpicc", "hawser")
    command = our_command(testbed, program, options.ranks)
    shared = {"size": options.size, "ranks": options.ranks, "limit": options.limit, "variables": {"HAWSER_NETWORK": "rails"}}
    print(f"\nHPCC, {options.ranks} ranks on a fabric `{' '.join(FABRIC)}`, undisturbed:", flush=True)
    quiet = run_hpcc(testbed, fresh(options.out / "undisturbed"), command, **shared)
    keep_sections(quiet)
    failed = judge(quiet, "undisturbed")
    print("\nOnce more, and things fail:", flush=True)
    faulty = run_hpcc(testbed, fresh(options.out / "faults"), command, plan=PLAN, **shared)
    keep_sections(faulty)
    show_faulty(faulty)
    failed += judge(faulty, "with faults") + missing_steps(faulty, PLAN)
    drawing = options.out / "bandwidth.svg"
    drawing.write_text(bandwidth.picture([panel(quiet, f"undisturbed, {quiet.seconds:.0f} s"),
                                          panel(faulty, f"with faults, {faulty.seconds:.0f} s")],
                                         f"HPCC on Hawser: {options.ranks} ranks, 4 hosts, 2 rails of 100 MB/s"), encoding="utf-8")
    print(f"\nWithout faults {quiet.seconds:.1f} s, with them {faulty.seconds:.1f} s. Picture: {drawing}")
    return failed


def compare(options, testbed):
    """The same with Open MPI: nothing is expected of it, it is told."""
    program = build("mpicc.openmpi", "openmpi")
    told = []
    for transport in OPEN_MPI:
        for label, plan in (("undisturbed", ()), ("with faults", PLAN)):
            print(f"\nHPCC on Open MPI ({transport}), {label}:", flush=True)
            run = run_hpcc(testbed, fresh(options.out / f"openmpi {transport} {label}"),
                           open_mpi_command(testbed, program, options.ranks, transport), plan=plan, size=options.size,
                           ranks=options.ranks, limit=options.compare_limit)
            verdicts = outcome.judge(run.report())
            begun, over = outcome.sections_seen(run.report())
            passed = sum(verdict.passed for verdict in verdicts)
            told.append(f"Open MPI ({transport}), {label}: {describe(run)}; {passed} of {len(verdicts)} checks passed; "
                        + (f"got as far as {begun[-1]}" if len(over) < len(begun) else "got to the end" if over else "nothing ran"))
            if run.code != 0 or run.timed_out:
                told += ["    " + line for line in open_mpi.errors(run.output)]
    print("\n" + "\n".join(told))


def main():
    options = parse_arguments()
    end_when_told()
    try:
        with Testbed(options.build) as testbed:
            failed = demonstrate(options, testbed)
            if options.compare:
                compare(options, testbed)
    except Failed as problem:
        print(f"demo: {problem}", file=sys.stderr)
        return 2
    if failed:
        print("\nFAILED:\n  " + "\n  ".join(failed), file=sys.stderr)
        return 1
    print("Every check of HPCC was passed, with and without faults.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
