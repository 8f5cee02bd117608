"""What the tests in Python share: how a case says what it needs, and how a program of cases ends.

A program ends with SKIPPED if a case was left out, and ctest shows it as skipped (hawser_python_test in
cmake/room.cmake); it ends with an error if no case has the name that was asked for. A case that needs a program
which is not installed is left out, too, unless TESTS_NEED_PACKAGES is set, as scripts/test does: then it fails.
"""
import glob
import os
import select
import shutil
import signal
import sys
import time
import unittest

SKIPPED = 77
# Seconds after which a case hangs, whatever it waits for: far more than any needs, and less than ctest gives a
# program, which would be killed with the processes that it started still running.
LIMIT = int(os.environ.get("HAWSER_TESTS_LIMIT", "500"))
STRICT = os.environ.get("TESTS_NEED_PACKAGES", "") not in ("", "0")

# The Debian package that has a program or, where there is a slash, a file; each is in scripts/packages.txt.
PACKAGES = {
    **dict.fromkeys(("ibv_devices", "ibv_devinfo", "ibv_asyncwatch", "ibv_rc_pingpong", "ibv_uc_pingpong",
                     "ibv_ud_pingpong", "ibv_srq_pingpong", "ibv_xsrq_pingpong"), "ibverbs-utils"),
    **dict.fromkeys(("ib_send_bw", "ib_send_lat", "ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat",
                     "ib_atomic_bw", "ib_atomic_lat"), "perftest"),
    "fi_pingpong": "libfabric-bin", "fi_info": "libfabric-bin",
    "opensm": "opensm", "ibsim": "ibsim-utils", "/usr/lib/*/umad2sim/libumad2sim.so": "ibsim-utils",
    "mpirun.openmpi": "openmpi-bin", "mpicc.openmpi": "libopenmpi-dev", "/usr/lib/*/libucp.so.0": "libucx0",
    "mpiexec.mpich": "mpich", "mpicc.mpich": "libmpich-dev", "mpif90.mpich": "libmpich-dev",
    "/usr/include/*/mpich/mpi.h": "libmpich-dev", "/usr/bin/NPmpich2": "netpipe-mpich2",
    "/usr/lib/*/scalapack/mpich-tests": "scalapack-mpi-test",
    "gfortran": "gfortran", "mandoc": "mandoc", "shellcheck": "shellcheck", "pkg-config": "pkg-config",
    "ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "pkill": "procps",
}


def installed(program):
    if "/" in program:
        return bool(glob.glob(program))
    return shutil.which(program) is not None or os.access(f"/usr/sbin/{program}", os.X_OK)


def missing(*programs):
    """What of this is not installed, in words; nothing if all is there."""
    gone = [program for program in programs if PACKAGES[program] and not installed(program)]
    packages = sorted({PACKAGES[program] for program in gone})
    return f"install {' '.join(packages)}: {', '.join(gone)} not found" if gone else ""


def needs(*programs):
    """For a case, or a class of cases: it is left out, or fails, where one of these programs is not installed."""
    why = missing(*programs)
    if not why:
        return lambda case: case
    return fails(why) if STRICT else unittest.skip(why)


def fails(why):
    def failing(case):
        def refuse(*_):
            raise AssertionError(why)
        if not isinstance(case, type):
            return refuse
        case.setUpClass = classmethod(refuse)
        return case
    return failing


def leave(why):
    """Ends a test that is no program of cases, because of what is `missing()`."""
    print(why)
    sys.exit(1 if STRICT else SKIPPED)


class Hang(AssertionError):
    pass


class Limited(unittest.TextTestResult):
    """Ends each case in time, at the call in which it waits; then its clean-up gets as long."""

    def arm(self, what):
        def hang(*_):
            signal.alarm(LIMIT)
            raise Hang(f"{what} is not done after {LIMIT} s")
        signal.signal(signal.SIGALRM, hang)
        signal.alarm(LIMIT)

    def startTest(self, test):
        self.arm(test)
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.arm(f"what comes after {test}")


class Runner(unittest.TextTestRunner):
    resultclass = Limited


def read_until(there, source, patience=LIMIT):
    """Reads a file descriptor until `there(what was read)`, and returns that."""
    seen, end = b"", time.monotonic() + patience
    while not there(seen):
        if not select.select([source], [], [], max(0, end - time.monotonic()))[0]:
            raise Hang(f"nothing more for {patience} s after: {seen!r}")
        part = os.read(source, 4096)
        if not part:
            raise AssertionError(f"it ended after: {seen!r}")
        seen += part
    return seen


def names(module):
    """The classes of cases, and the cases, of a program."""
    classes = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, unittest.TestCase)]
    cases = {each.__name__: unittest.TestLoader().getTestCaseNames(each) for each in classes}
    return [name for name, own in cases.items() if own] + [f"{name}.{case}" for name, own in cases.items() for case in own]


def run(words):
    """Runs the cases of the program that calls it. `words` are unittest's: names, or options. Returns the exit code."""
    module = sys.modules["__main__"]
    result = unittest.main(module=module, argv=[sys.argv[0], *words], exit=False, testRunner=Runner).result
    signal.alarm(0)
    unknown = [test for test, _ in result.errors if isinstance(test, unittest.loader._FailedTest)]
    if unknown or not (result.testsRun or result.errors or result.skipped):
        print(f"{sys.argv[0]}: {' '.join(words)}: no such case; there are:", *names(module), sep="\n  ", file=sys.stderr)
        return 2
    if not result.wasSuccessful():
        return 1
    for test, why in result.skipped:
        print(f"skipped: {test}: {why}", file=sys.stderr)
    return SKIPPED if result.skipped else 0


def main(*words):
    sys.exit(run(words))
