#!/usr/bin/env python3
"""Programs that a correct MPI must bear: far more messages than are asked for, and ranks that fork.

Usage: messages_test.py BUILD [unittest arguments]. Over shared memory, sockets and rails of a virtual fabric.
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from cases import main  # noqa: E402

LIMIT = 240  # seconds; only what waits for ever needs as long
PLACES = {
    "shared memory": [],
    "sockets": ["-hosts", "a,b,c", "-x", "HAWSER_NETWORK=socket"],
    "rails": ["--fabric", "two-switch --hosts 3", "-x", "HAWSER_NETWORK=rails"],
}
DIRECTORY = tempfile.TemporaryDirectory(prefix="hawser-messages-")


def setUpModule():
    for source in HERE.glob("*.c"):
        subprocess.run([BUILD / "bin/mpicc", "-O1", "-o", f"{DIRECTORY.name}/{source.stem}", source, "-lpthread"],
                       check=True)


def tearDownModule():
    DIRECTORY.cleanup()


def run(place, program, *arguments, ranks=3, **settings):
    words = [word for name, value in settings.items() for word in ("-x", f"HAWSER_{name.upper()}={value}")]
    return subprocess.run([BUILD / "bin/mpiexec", *PLACES[place], *words, "-n", str(ranks),
                           f"{DIRECTORY.name}/{program}", *arguments],
                          capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL, check=False)


class Messages(unittest.TestCase):
    def flood(self, place, count, size, **settings):
        result = run(place, "unexpected", str(count), str(size), **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("all received", result.stdout)
        return {name: int(kb) << 10 for name, kb in re.findall(r"^(others|self) (-?\d+) kB$", result.stdout, re.M)}


class Unexpected(Messages):
    MIB = 1 << 20

    def test_the_default_bounds_memory(self):
        for place, size in (("shared memory", 16000), ("sockets", 16000), ("rails", 8000)):
            with self.subTest(place):
                held = self.flood(place, 15000, size)
                # The bound, the envelopes of what senders keep, rings and connections.
                self.assertLess(held["others"], 64 * self.MIB + 40 * self.MIB)
                self.assertLess(held["self"], 64 * self.MIB + 80 * self.MIB)

    def test_the_setting_bounds_memory(self):
        for place, size in (("shared memory", 16000), ("sockets", 16000), ("rails", 8000)):
            with self.subTest(place):
                held = self.flood(place, 6000, size, unexpected_bytes="1M")
                self.assertLess(held["others"], 24 * self.MIB)
                self.assertLess(held["self"], 24 * self.MIB)

    def test_short_messages_are_bounded_too(self):
        for place in PLACES:
            with self.subTest(place):
                self.flood(place, 20000, 8, unexpected_bytes="1M")

    def test_the_end_of_memory_is_an_error_that_names_it(self):
        result = run("shared memory", "unexpected", "10000", "16000", "limited", unexpected_bytes="1G")
        self.assertIn(result.returncode, range(1, 128), result.stderr)  # not by a signal
        self.assertRegex(result.stderr, r"rank 0.*MPI_Recv: out of memory: an allocation of 16000 bytes for a message "
                                        r"that no receive has asked for failed")
        self.assertNotIn("terminate", result.stderr)

    def test_the_end_of_memory_is_no_error_of_a_tool(self):
        result = run("shared memory", "tool_memory", ranks=1)
        self.assertEqual((result.returncode, result.stdout), (0, "many sessions, then MPI_T_ERR_MEMORY\n"), result.stderr)


class Forked(Messages):
    def test_children_are_not_the_rank(self):
        for place in PLACES:
            for how in ("init", "session"):
                with self.subTest(place, how=how):
                    result = run(place, "forked", how)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertIn("all went on", result.stdout)
                    self.assertIn("in a forked child, but only the rank itself may call MPI", result.stderr)


class Threads(Messages):
    def test_one_polls_for_all(self):
        result = run("shared memory", "idle_threads", ranks=2)
        self.assertEqual(result.returncode, 0, result.stderr)
        restless = re.fullmatch(r"(\d+) threads woke often\n", result.stdout)
        # The one that polls, and the one that takes over at the end.
        self.assertLessEqual(int(restless.group(1)), 2, result.stdout)

    def test_many_exchange_much(self):
        for place in PLACES:
            with self.subTest(place):
                result = run(place, "many_threads", "25", "262144", "3", ranks=2)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_all_on_one_core(self):
        result = run("shared memory", "many_threads", "25", "4096", "20", "one-core", ranks=2)
        self.assertEqual(result.returncode, 0, result.stderr)


class Freed(Messages):
    def test_memory_goes_back_to_the_system(self):
        result = run("rails", "freed", ranks=2)
        self.assertEqual(result.returncode, 0, result.stderr)
        rounds = [(int(used), int(kept)) for used, kept in re.findall(r"used (\d+) kB, kept (-?\d+) kB", result.stdout)]
        self.assertEqual(len(rounds), 4, result.stdout)
        for used, kept in rounds:
            self.assertGreater(used, 150_000)
            self.assertLess(kept, used // 4)


class UserWindow(Messages):
    """Windows over user's memory, which the processes of a node do not share."""

    def all_right(self, how, **settings):
        result = run("shared memory", "user_window", how, ranks=2, **settings)
        if "no filters of system calls here" in result.stdout:
            self.skipTest("the system has no filters of system calls")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("all right", result.stdout)

    def test_a_rank_that_computes_delays_nobody(self):
        self.all_right("computes")

    def test_without_barriers_in_neighbours(self):
        self.all_right("computes", wait_membarrier="off")

    def test_the_kernel_refuses_after_a_while(self):
        self.all_right("refused")

    def test_the_kernel_is_never_asked(self):
        self.all_right("refused", shm_single_copy="never")


class UsedUpAreas(Messages):
    """More communicators than areas: how fast ranks free theirs changes no bit of what the program computes."""

    def all_the_same(self, outputs):
        self.assertEqual(len(set(outputs)), 1, outputs)
        in_order, otherwise = re.search(r"in order (\d+), otherwise (\d+)$", outputs[0].strip()).groups()
        return int(in_order), int(otherwise)

    def in_processes(self, ranks, runs):
        outputs = []
        for seed in range(runs):
            result = run("shared memory", "used_up_areas", "800", str(seed), ranks=ranks)
            self.assertEqual(result.returncode, 0, result.stderr)
            outputs.append(result.stdout)
        in_order, otherwise = self.all_the_same(outputs)
        self.assertGreater(in_order, 300)  # else nothing was freed in time
        self.assertGreater(otherwise, 10)  # else areas were not used up

    def test_a_core_for_each(self):
        self.in_processes(4, 12)

    def test_more_ranks_than_cores(self):
        self.in_processes(2 * (os.cpu_count() or 1) + 1, 5)

    def simulated(self, nodes, ranks):
        outputs = []
        for seed in range(4):
            outputs.append(subprocess.run(
                [BUILD / "bin/hawser", "sim", "exec", "-n", str(nodes * ranks), "--ppn", str(ranks), "--areas", "--quiet",
                 *(["--fabric", "fat-tree-144"] if nodes > 1 else []), f"{DIRECTORY.name}/used_up_areas", "400", str(seed)],
                capture_output=True, text=True, timeout=LIMIT, check=True).stdout)
        return self.all_the_same(outputs)

    def test_one_simulated_node(self):
        in_order, otherwise = self.simulated(1, 4)
        self.assertGreater(in_order, 150)
        self.assertGreater(otherwise, 5)

    def test_simulated_nodes(self):
        self.simulated(2, 4)


class MeasuredWays(Messages):
    """Large collective operations, whose ways are measured."""

    def all_right(self, *words, ranks=(2, 3), **settings):
        for number in ranks:
            with self.subTest(ranks=number):
                result = run("shared memory", "measured_ways", *words, ranks=number, **settings)
                if "no filters of system calls here" in result.stdout:
                    self.skipTest("the system has no filters of system calls")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("all right", result.stdout)

    def test_what_is_measured(self):
        self.all_right(ranks=(2, 3, 4))

    def test_always_directly(self):
        self.all_right(collective_shared="other")

    def test_the_kernel_refuses_after_a_while(self):
        self.all_right("refused")
        self.all_right("refused", collective_shared="other")

    def test_the_kernel_is_never_asked(self):
        self.all_right(shm_single_copy="never")


class ManyWindows(Messages):
    """16,000 windows of all kinds, one after the other."""

    def test_leave_nothing(self):
        for place in PLACES:
            with self.subTest(place):
                result = run(place, "many_windows")
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                grown = re.findall(r"^grown by (-?\d+) kB, (-?\d+) mappings, (-?\d+) descriptors$", result.stdout, re.M)
                self.assertEqual(len(grown), 3, result.stdout)
                for kilobytes, mappings, descriptors in grown:
                    # 8,000 windows: less than 32 bytes of each. The heap grows by 128 KiB.
                    self.assertLess(int(kilobytes), 256)
                    self.assertLessEqual(int(mappings), 2)
                    self.assertLessEqual(int(descriptors), 0)


class PostedReceive(Messages):
    """Large messages to a rank of the same node that computes."""

    def all_right(self, **settings):
        result = run("shared memory", "posted_receive", ranks=2, **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("all right", result.stdout)

    def test_the_sender_brings_the_message(self):
        self.all_right()

    def test_without_barriers_in_neighbours(self):
        self.all_right(wait_membarrier="off")

    def test_with_chunks_and_without_patience(self):
        self.all_right(shm_patience="0", shm_single_copy_chunk="64k")


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()[0]


class Unfreed(unittest.TestCase):
    def test_windows_are_named_once(self):
        for place in PLACES:
            with self.subTest(place):
                result = run(place, "unfreed")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(result.stdout.count("is done"), 3)
                self.assertRegex(result.stderr, r"^hawser: rank 0: the program ends MPI without MPI_Win_free of window "
                                                r"'halo', made by MPI_Win_allocate over MPI_COMM_WORLD \(3 processes\), "
                                                r"and 1 more, which MPI calls erroneous\n$")


class Dead(unittest.TestCase):
    """A rank dies, and the launcher does nothing: it is stopped. The others notice it by themselves."""

    def survivors_end(self, place):
        command = [BUILD / "bin/mpiexec", *PLACES[place], "-n", "3", f"{DIRECTORY.name}/survivor"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL) as job:
            pids = {}
            try:
                while len(pids) < 3:
                    line = job.stdout.readline()
                    self.assertTrue(line, "the job ended early")
                    rank, pid = re.fullmatch(r"rank (\d) is (\d+)\n", line).groups()
                    pids[rank] = int(pid)
                os.kill(job.pid, signal.SIGSTOP)
                os.kill(pids["1"], signal.SIGKILL)
                end = time.monotonic() + LIMIT
                while any(state(pids[rank]) not in "ZX" for rank in "02") and time.monotonic() < end:
                    time.sleep(0.05)
                ended = [state(pids[rank]) for rank in "02"]
            finally:
                os.kill(job.pid, signal.SIGCONT)
            _, errors = job.communicate(timeout=LIMIT)
        self.assertEqual(ended, ["Z", "Z"], errors)
        self.assertNotEqual(job.returncode, 0)
        return errors

    def test_neighbours_notice_it_in_shared_memory(self):
        self.assertRegex(self.survivors_end("shared memory"),
                         r"MPI_\w+: rank [01] \(process \d+ of this node\) has died")

    def test_others_notice_it_over_sockets(self):
        # A rank that had not yet been connected to the dead one is refused.
        self.assertRegex(self.survivors_end("sockets"),
                         r"MPI_\w+: rank [01] cannot be reached: (.* died|connecting failed: Connection refused)")


class Unreached(unittest.TestCase):
    """A rank cannot reach another, and says why, also if it sleeps longer between two looks than it waits for others' words."""

    REASON = "rank 0 cannot be reached: making a socket failed: Too many open files"

    def words(self, *arguments):
        result = run("sockets", "few_descriptors", *arguments, ranks=2, wait_sleep="3s")
        self.assertNotIn(result.returncode, (0, 124))
        return result.stderr

    def test_the_reason_ends_the_job(self):
        self.assertRegex(self.words(), "MPI_Send: " + self.REASON)

    def test_the_reason_follows_the_error(self):
        self.assertRegex(self.words("handles"), "MPI_Send: the process at the other end has failed .*" + self.REASON)


if __name__ == "__main__":
    main(*sys.argv[1:])
