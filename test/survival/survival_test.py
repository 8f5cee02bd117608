#!/usr/bin/env python3
"""Jobs whose ranks are killed while the others go on (mpiexec --survive).

Usage: survival_test.py BUILD [unittest arguments]. Over shared memory, sockets and rails of a virtual fabric.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parents[1] / "python")]
from cases import main, needs, read_until  # noqa: E402
from hawser_lab import Fabric  # noqa: E402

LIMIT = 120  # seconds; only what waits for ever needs as long
PLACES = {
    "shared memory": [],
    "sockets": ["-hosts", "a,b,c,d", "-ppn", "2", "-x", "HAWSER_NETWORK=socket"],
    "rails": ["--fabric", "two-switch --hosts 4", "-ppn", "2", "-x", "HAWSER_NETWORK=rails"],
}
# Jobs of each place; the nightly run sets more.
JOBS = int(os.environ.get("SURVIVAL_JOBS", "6"))
# What the build's libraries were made with.
SANITIZE = os.environ.get("SURVIVAL_SANITIZE", "")
DIRECTORY = tempfile.TemporaryDirectory(prefix="hawser-survival-")


def build_program(source, program, *flags):
    sanitize = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
    subprocess.run([BUILD / "bin/mpicc", "-O1", *sanitize, "-Wall", "-Werror", *flags, "-o", f"{DIRECTORY.name}/{program}",
                    source], check=True)


def setUpModule():
    for source in HERE.glob("*.c"):
        build_program(source, source.stem)


def tearDownModule():
    DIRECTORY.cleanup()


def run(place, program, *arguments, ranks=8, survive=True):
    return subprocess.run([BUILD / "bin/mpiexec", *PLACES[place], *(["--survive"] if survive else []),
                           "-n", str(ranks), f"{DIRECTORY.name}/{program}", *map(str, arguments)],
                          capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL, check=False)


class Random(unittest.TestCase):
    """Ranks are killed at random times, wherever they are; those who are left agree, and finish."""

    def survivors_finish(self, place, longest):
        for seed in range(1, JOBS + 1):
            with self.subTest(seed=seed):
                kills = 1 + seed % 5
                result = run(place, "survive", seed, kills, 60, longest)
                self.assertEqual(result.returncode, 0, result.stderr)
                died = len(re.findall(r"was killed by signal 9 .*; the job goes on without it", result.stderr))
                self.assertEqual(died, kills)
                self.assertEqual(result.stdout, f"{8 - kills} ranks are left\n" * (8 - kills))

    def test_in_shared_memory(self):
        self.survivors_finish("shared memory", 20000)

    def test_over_sockets(self):
        self.survivors_finish("sockets", 60000)

    def test_over_rails(self):
        self.survivors_finish("rails", 150000)


class Partition(unittest.TestCase):
    """A host is cut off from the others for longer than HAWSER_RAIL_GIVE_UP: it is ended, and the others go on."""

    def setUp(self):
        self.fabric = Fabric(BUILD / "bin/hawser", f"partition-{os.getpid()}-{self.id().split('.')[-1]}"[:50])
        self.fabric.up("two-switch", "--hosts", "4")
        self.addCleanup(self.fabric.down)

    def begin(self, give_up, milliseconds):
        job = subprocess.Popen(
            [BUILD / "bin/mpiexec", "--survive", "--fabric", self.fabric.name, "-hosts", "n0,n1,n2,n3", "-ppn", "2", "-n", "8",
             "-x", "HAWSER_NETWORK=rails", "-x", f"HAWSER_RAIL_GIVE_UP={give_up}",
             f"{DIRECTORY.name}/partition", str(milliseconds)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        self.addCleanup(job.kill)
        seen = read_until(lambda seen: b"begins\n" in seen, job.stdout.fileno())
        self.early = seen.decode().split("begins\n", 1)[1]
        return job

    def cut(self, hosts, how="down"):
        for host in hosts:
            for rail in (0, 1):
                self.fabric.fault(f"link n{host}/hw{rail} {how}")

    def expect_left(self, job, left):
        output, errors = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 0, errors)
        expected = [f"rank {rank} is one of {len(left)}, their sum is {sum(left)}" for rank in left]
        self.assertEqual(sorted((self.early + output).splitlines()), expected, errors)
        killed = re.findall(r"rank (\d) on host n\d .* is killed, because others and it cannot reach each other", errors)
        self.assertEqual(sorted(map(int, killed)), [rank for rank in range(8) if rank not in left])

    def cut_off(self, host):
        job = self.begin("2s", 3600000)
        self.cut([host])
        self.expect_left(job, [rank for rank in range(8) if rank // 2 != host])

    def test_a_host_is_cut_off(self):
        self.cut_off(2)

    def test_the_first_host_is_cut_off(self):
        self.cut_off(0)

    def test_nobody_is_given_up_without_the_knob(self):
        job = self.begin("0", 1)
        self.cut([2])
        self.cut([2], "up")
        self.expect_left(job, list(range(8)))


class Calls(unittest.TestCase):
    """Each call does what it should."""

    def test_with_a_failed_rank(self):
        for place in PLACES:
            with self.subTest(place):
                result = run(place, "calls", ranks=4)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(result.stdout, "all calls are as they should be\n")

    def test_with_the_other_abi(self):
        build_program(HERE / "calls.c", "calls-mpich", "-abi=mpich")
        result = run("shared memory", "calls-mpich", ranks=4)
        self.assertEqual(result.returncode, 0, result.stderr)

    @unittest.skipIf(SANITIZE, "the libraries for Fortran are tested without sanitizers")
    @needs("gfortran")
    def test_from_fortran(self):
        for abi in ("standard", "mpich"):
            for flag in ("-DUSE_HEADER", "-DUSE_MODULE", "-DUSE_F08"):
                with self.subTest(abi=abi, flag=flag):
                    program = f"fortran-{abi}{flag}"
                    subprocess.run([BUILD / "bin/mpifort", f"-abi={abi}", "-ffree-line-length-none", flag, "-o",
                                    f"{DIRECTORY.name}/{program}", HERE / "survive.F90"], check=True, cwd=DIRECTORY.name)
                    result = run("shared memory", program, ranks=3)
                    self.assertEqual((result.returncode, result.stdout), (0, "rank 1 was left out\n"), result.stderr)

    def test_of_windows_with_a_failed_rank(self):
        for place in PLACES:
            for call in ("fence", "start", "lock"):
                with self.subTest(place, call=call):
                    result = run(place, "window", call, ranks=3)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(result.stdout, "the window's end was told\n")

    def test_of_requests_of_a_failed_target(self):
        for place in PLACES:
            with self.subTest(place):
                result = run(place, "window_requests", "shared" if place == "shared memory" else "apart", ranks=3)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(result.stdout, "all requests have ended\n")

    def test_errors_that_nobody_handles_end_the_job(self):
        result = run("shared memory", "calls", "unhandled", ranks=4)
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"rank [013] .* aborted the job .*MPI_Barrier: a process of the communicator")

    def test_the_cause_of_an_end_is_said_not_its_consequence(self):
        result = run("shared memory", "consequence", "cause", ranks=2, survive=False)
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertRegex(result.stderr, r"rank 0 .* aborted the job with code 7")

    def test_exit_codes_of_errors_do_not_look_like_signals(self):
        result = run("shared memory", "consequence", ranks=2, survive=False)
        self.assertEqual(result.returncode, 16, result.stderr)  # MPI_ERR_OTHER
        self.assertRegex(result.stderr, r"rank 1 .* aborted the job with code 16: MPI_Comm_call_errhandler")

    def test_without_the_option_the_job_ends(self):
        result = run("shared memory", "calls", ranks=4, survive=False)
        self.assertEqual(result.returncode, 128 + 9, result.stderr)
        self.assertIn("was killed by signal 9", result.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
