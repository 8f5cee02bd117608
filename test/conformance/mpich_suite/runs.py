"""Runs tests of the suite, several at once, and judges them as the suite's own runner does."""
import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

GRACE = 15         # seconds that a launcher has to end its job after the time limit
KEPT_OUTPUT = 4000  # characters
NOISE = re.compile(r"\s*Test Passed\s*|\s*No [Ee]rrors\s*|.*FORTRAN STOP.*")


@dataclass
class Result:
    """What became of a test: passed, failed, expected (failed, as is known), surprise (passed, though it was
    known to fail) or skipped."""
    test: object
    state: str
    why: str = ""
    seconds: float = 0.0
    output: str = ""


def judge(test, code, output, late):
    """Why a run is a failure; empty if it is none."""
    if late:
        return f"not done after {late:.0f} s"
    if test.check == "exit":
        return "" if code else "exit code 0, which the test is not to have"
    unexpected = [line for line in output.splitlines() if not NOISE.fullmatch(line)]
    if unexpected:
        return f"unexpected output: {unexpected[0][:160]}" + (f" (exit code {code})" if code else "")
    if not re.search(r"(?m)^\s*No [Ee]rrors\s*$", output):
        return f"ended without 'No Errors' (exit code {code})"
    if test.check == "both":
        return "" if code else "exit code 0, which the test is not to have"
    return f"exit code {code}" if code else ""


class Launcher:
    """How programs are started: the command before `-n`, the variables, and the option that limits time."""

    def __init__(self, command, variables, limit_option=None, own_options=False):
        self.command, self.variables = command, variables
        self.limit_option = limit_option
        self.own_options = own_options  # whether it knows the options of MPICH's launcher
        self.jobs = set()
        self.stopped = False

    def stop(self):
        """Ends the jobs that run; no other begins."""
        self.stopped = True
        for job in list(self.jobs):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGTERM)

    def run(self, test, program, scale):
        """(exit code, output, seconds that were too many or 0)."""
        limit = test.seconds * scale
        command = [*self.command, "-n", str(test.ranks)]
        if self.own_options:
            command += test.launcher
        if self.limit_option:
            command += [self.limit_option, f"{limit:.0f}"]
        variables = dict(os.environ, **self.variables, MPIEXEC_TIMEOUT=f"{limit:.0f}")
        variables.update(word.split("=", 1) for word in test.variables)
        with subprocess.Popen([*command, f"./{test.program}", *test.arguments], cwd=program.parent, env=variables,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True) as job:
            began = time.monotonic()
            self.jobs.add(job)
            if self.stopped:
                self.stop()
            try:
                output = job.communicate(timeout=limit + GRACE)[0]
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGTERM)
                try:
                    output = job.communicate(timeout=GRACE)[0]
                except subprocess.TimeoutExpired:
                    os.killpg(job.pid, signal.SIGKILL)
                    output = job.communicate()[0]
            self.jobs.discard(job)
            spent = time.monotonic() - began
        late = spent if spent > limit and test.check == "output" else 0
        return job.returncode, output.decode(errors="replace"), late


class Runner:
    """Runs tests and reports each as it ends."""

    def __init__(self, programs, launcher, expected, options):
        self.programs, self.launcher, self.expected, self.options = programs, launcher, expected, options
        self.printing = threading.Lock()
        self.unbuilt = {}

    def skip(self, test):
        """Why a test is not run; None if it is."""
        if test.gigabytes > self.options.memory:
            return f"needs {test.gigabytes:g} GB"
        if self.options.rails and test.ranks < 2:
            return "one rank sends nothing over rails"
        reason = self.expected.reason(test.name) or ""
        if reason.startswith("not run: "):
            return reason
        return None

    def run(self, test):
        skipped = self.skip(test)
        if skipped:
            return Result(test, "skipped", skipped)
        if test.program in self.unbuilt.get(test.directory, ()):
            return self.weigh(Result(test, "failed", "could not be built"))
        began = time.monotonic()
        program = self.programs.path(test.directory, test.program)
        code, output, late = self.launcher.run(test, program, self.options.time_scale)
        why = judge(test, code, output, late)
        return self.weigh(Result(test, "failed" if why else "passed", why, time.monotonic() - began,
                                 output[:KEPT_OUTPUT]))

    def weigh(self, result):
        """With what is known of the test."""
        reason = self.expected.reason(result.test.name)
        if not reason and result.test.ticket and self.options.peer:
            # The suite's own expectations are allowances: they passed or failed as MPICH was configured.
            reason = f"MPICH's {result.test.ticket}" if result.state == "failed" else None
        if reason and not (reason.startswith("sometimes: ") and result.state == "passed"):
            result.state = "expected" if result.state == "failed" else "surprise"
            result.why = f"{reason}{': ' if result.why else ''}{result.why}"
        return result

    def report(self, result):
        with self.printing:
            if result.state not in ("passed", "skipped", "expected") or self.options.verbose:
                print(f"{result.state:8} {result.test.name}: {result.why or 'No Errors'} ({result.seconds:.1f} s)",
                      flush=True)

    def run_all(self, tests):
        """Builds and runs a directory after the other; the results of each as it is done."""
        directories = {}
        for test in tests:
            directories.setdefault(test.directory, []).append(test)

        def one(test):
            result = self.run(test)
            if not self.launcher.stopped:
                self.report(result)
            return result
        with ThreadPoolExecutor(self.options.jobs) as pool:
            for directory, group in directories.items():
                wanted = [test.program for test in group if not self.skip(test)]
                self.unbuilt[directory] = self.programs.build(directory, wanted, self.options.jobs)
                try:
                    yield list(pool.map(one, group))
                except BaseException:
                    self.launcher.stop()
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
