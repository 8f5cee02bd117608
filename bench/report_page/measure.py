"""Runs the benchmarks of the sections, and keeps what they measured as JSON."""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import hpcc
from .machine import ROOT

PATIENCE = 900  # seconds for one benchmark; each ends its own hangs sooner
LEAVE = 20  # seconds to take down fabrics and jobs when told to end
COMPARE, RAILS, STARTUP = "bench/compare", "bench/rails/report.py", "bench/startup"
COMPUTING = "bench/computing"


@dataclass(frozen=True)
class Step:
    """A benchmark: its result's name (empty: the result's own names), its words by default and for --quick."""

    name: str
    program: str
    words: str
    quick: str


STEPS = {
    "messages": [
        Step("", COMPARE, "--rounds 3 --only sizes", "--rounds 1 --only sizes"),
        Step("", COMPARE, "--rounds 5 --only latency,bw,mr", "--rounds 1 --only latency,bw,mr"),
    ],
    "collectives": [
        Step("", COMPARE, "--rounds 3 --only collectives", "--rounds 1 --only collectives --sizes 8,65536")
    ],
    "overlap": [Step("", COMPARE, "--rounds 3 --only overlap", "--rounds 1 --only overlap")],
    "computing": [Step("computing", COMPUTING, "--quiet --hpl", "--quiet")],
    "startup": [Step("startup", STARTUP, "-r 5", "-r 1 -n 2,8")],
    "rails": [
        Step(
            "speed",
            RAILS,
            "speed --parts sizes --runs 2",
            "speed --parts sizes --rails 1,2 --runs 1 --sizes 4096,65536,1048576",
        ),
        Step("criteria", RAILS, "speed --parts 2,4,latency --no-peers --runs 2", ""),
    ],
    "pauses": [Step("pause", RAILS, "pause --faults 60", "pause --faults 5")],
    "failover": [
        Step("timeline", RAILS, "timeline --seconds 4", "timeline --seconds 2 --libraries hawser,openib"),
        Step("degraded", RAILS, "degraded --runs 2 --quiet", ""),
    ],
    "unlike": [
        Step(
            "speed",
            RAILS,
            "speed --parts unlike --runs 2",
            "speed --parts unlike --runs 1 --sizes 4096,65536,1048576,4194304",
        ),
        Step("ethernet", RAILS, "ethernet --runs 2", ""),
    ],
    "hpcc": [],
}
NEEDED = {
    COMPARE: ("mpicc.mpich", "mpicc.openmpi"),
    STARTUP: ("mpicc.mpich",),
    COMPUTING: (),
    RAILS: ("mpicc.openmpi", "ib_write_bw"),
}
BUILT = ("mpicc", "mpiexec", "hawser")


class Unready(Exception):
    """Nothing can be measured: the message says why."""


def check_build(build):
    missing = [name for name in BUILT if not (build / "bin" / name).exists()]
    if missing:
        raise Unready(
            f"{build} has no bin/{', bin/'.join(missing)}: build it (cmake --preset release && cmake --build"
            " --preset release), or name another one with --build"
        )


def command_of(step, options, words, file):
    """What is for all of bench/rails stands before its verb."""
    precedence = ["--precedence"] if options.precedence and step.program == RAILS else []
    return [
        sys.executable,
        "-B",
        str(ROOT / step.program),
        "--build",
        str(options.build),
        "--json",
        str(file),
        *precedence,
        *words.split(),
    ]


def check_precedence():
    if os.geteuid() != 0 or not Path("/proc/self/autogroup").exists():
        raise Unready("--precedence needs root, and a kernel with autogroups")


def end(process):
    """First the benchmark, which takes down what it started; then whatever is left of its session."""
    process.terminate()
    try:
        process.wait(LEAVE)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run(command, log, precedence):
    """The exit code; None when it took too long."""
    with open(log, "w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=ROOT,
        )
        try:
            if precedence:
                Path(f"/proc/{process.pid}/autogroup").write_text("-20", encoding="ascii")
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            end(process)
            return None
        except BaseException:
            end(process)
            raise


def tail(log, most=12):
    """The last lines, of a Python traceback only what it ends with."""
    text = log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n")
    text = re.sub(r"^Traceback .*\n(?:[ \t].*\n)*", "", text, flags=re.M)
    return "\n".join([line for line in text.splitlines() if line.strip()][-most:])


def measure_step(step, options, words, folder):
    """(result or None, what failed)."""
    if missing := [name for name in NEEDED[step.program] if shutil.which(name) is None]:
        return None, f"not installed: {', '.join(missing)} (scripts/install-dependencies)"
    file, log = folder / "result.json", folder / "log"
    file.unlink(missing_ok=True)
    code = run(command_of(step, options, words, file), log, options.precedence)
    result = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    if code is None:
        return result, f"{step.program} {words}: not done after {PATIENCE} s, ended\n{tail(log)}"
    # 1 with a result: a criterion was missed, which the result tells.
    if code == 0 or (code == 1 and result is not None):
        return result, ""
    return result, f"{step.program} {words}: exit code {code}\n{tail(log)}"


def measure_section(key, options):
    """{results, failed, seconds, load, commands}."""
    begin, load = time.monotonic(), os.getloadavg()[0]
    results, failed, commands = {}, [], []
    if key == "hpcc":
        results["hpcc"] = hpcc.runs(ROOT / "build/demo")
    with tempfile.TemporaryDirectory(prefix="hawser-report-") as folder:
        for step in STEPS[key]:
            words = step.quick if options.quick else step.words
            if not words:
                continue
            commands.append(shlex.join([step.program, *words.split()]))
            result, problem = measure_step(step, options, words, Path(folder))
            if result is not None:
                results.update({step.name: result} if step.name else result)
            if problem:
                failed.append(problem)
    return {
        "results": results,
        "failed": "\n\n".join(failed),
        "seconds": time.monotonic() - begin,
        "load": [load, os.getloadavg()[0]],
        "commands": commands,
    }
