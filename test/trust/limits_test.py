#!/usr/bin/env python3
"""Jobs that meet the limits of their host: they work, or they end with words. Nothing hangs, nothing dies of a signal.

Usage: limits_test.py BUILD [unittest arguments]
"""
import os
import re
import select
import subprocess
import sys
import tempfile
import time
import unittest

from trust_case import BUILD, LIMIT, PLACES, RANKS, compiled, main, readable_copy

ROOT = os.getuid() == 0
AFTER_WORDS = 8  # seconds from its begin that a job gets that has said why it may wait


class Limited(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = readable_copy(cls)

    def outcome(self, place, limit, *, around=False, **who):
        """What becomes of a job whose ranks have this limit; with `around`, mpiexec and all that it starts have it, too.
        "well", or the words with which it ended, or with which it said why it waits: a job whose processes cannot reach each
        other waits until they can."""
        shell = ["bash", "-c", f'ulimit {limit} && exec "$0" "$@"']
        job = [self.folder / "bin/mpiexec", *PLACES[place], "-n", str(RANKS), *([] if around else shell), self.folder / "exchange"]
        process = subprocess.Popen([*shell, *job] if around else job, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**os.environ, "LD_LIBRARY_PATH": f"{self.folder}/lib"}, **who)
        seen, begin = {process.stdout: b"", process.stderr: b""}, time.monotonic()
        try:
            while open_ends := [each for each in seen if not each.closed]:
                words = seen[process.stderr].decode()
                waits = re.search("or the job may wait for ever|cannot get memory or descriptors", words)
                patience = begin + (AFTER_WORDS if waits else LIMIT) - time.monotonic()
                ready = select.select(open_ends, [], [], max(0, patience))[0]
                if waits and not ready:
                    return words
                self.assertTrue(ready, f"{place}, ulimit {limit}: hangs without a word; {seen}")
                for each in ready:
                    if part := os.read(each.fileno(), 65536):
                        seen[each] += part
                    else:
                        each.close()
            code = process.wait(LIMIT)
        finally:
            process.kill()
            process.communicate()
        words = seen[process.stderr].decode()
        if code == 0:
            self.assertIn(b"all right\n", seen[process.stdout], f"{place}, ulimit {limit}: {words}")
            return "well"
        self.assertIn(code, range(1, 128), f"{place}, ulimit {limit}: {words}")
        self.assertRegex(words, r"\w+ \w+", f"{place}, ulimit {limit}: exit code {code} without a word")
        self.assertNotRegex(words, "terminate called|Assertion|Segmentation|SIG", f"{place}, ulimit {limit}")
        return words

    def sweep(self, place, option, values, says, **how):
        """With the least of the limits a job cannot work, with the greatest it does."""
        outcomes = [self.outcome(place, f"{option} {value}", **how) for value in values]
        self.assertEqual(outcomes[-1], "well")
        self.assertNotEqual(outcomes[0], "well")
        for words in outcomes:
            if words != "well":
                self.assertRegex(words, says)


class OpenFiles(Limited):
    # What the loader says, what ranks say, and mpiexec.
    SAYS = "Error 24|Too many open files|open files|Cannot allocate memory|Input/output error|cannot be reached"
    VALUES = (3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 256)

    def test_of_ranks_in_shared_memory(self):
        self.sweep("shared memory", "-n", self.VALUES, self.SAYS)

    def test_of_ranks_over_sockets(self):
        self.sweep("sockets", "-n", self.VALUES, self.SAYS)

    def test_of_ranks_over_rails(self):
        self.sweep("rails", "-n", self.VALUES, self.SAYS)


class Memory(Limited):
    SAYS = "cannot allocate|Cannot allocate|out of memory|failed to map segment|no memory|Input/output error"

    def test_in_shared_memory(self):
        self.sweep("shared memory", "-v", (4000, 9000, 12000, 30000, 100000, 1000000), self.SAYS)

    def test_over_sockets(self):
        self.sweep("sockets", "-v", (4000, 9000, 10000, 12000, 15000, 30000, 100000, 1000000), self.SAYS)

    def test_over_rails(self):
        self.sweep("rails", "-v", (4000, 9000, 12000, 15000, 20000, 30000, 60000, 100000, 1000000), self.SAYS)


class FileSizes(Limited):
    def test_in_all_places(self):
        for place in PLACES:
            with self.subTest(place):
                self.sweep(place, "-f", (0, 8, 100, 1000000), "ulimit -f|File too large")


@unittest.skipUnless(ROOT, "only root can become a user who has no processes")
class Processes(Limited):
    def test_in_all_places(self):
        # A user without a name, so that nobody else's processes count.
        who = {"user": 61234, "group": 61234, "extra_groups": [], "cwd": "/"}
        for place in PLACES:
            with self.subTest(place):
                self.sweep(place, "-u", (1, 2, 3, 4, 5, 6, 8, 100), "Resource temporarily unavailable|processes", around=True,
                           **who)


class FullDisk(Limited):
    """What programs print or write into files does not fit."""

    def programs(self, folder):
        """Commands that print, and commands that write into this file."""
        hawser, mpiexec = BUILD / "bin/hawser", BUILD / "bin/mpiexec"
        many = [mpiexec, "-n", "2", "seq", "100000"]
        prints = [many, [hawser, "info", "--knobs"], [hawser, "doctor"], [hawser, "--help"], [hawser, "sim", "run", "--seed", "7"],
                  [hawser, "sim", "campaign", "--seeds", "1..2"], [hawser, "fabric", "topology", "fat-tree-144"],
                  [hawser, "sim", "exec", "--help"], [hawser, "sim", "exec", "-n", "2", "--", self.folder / "exchange"]]
        writes = [[hawser, "sim", "run", "--seed", "7", "--trace", folder],
                  [hawser, "sim", "exec", "-n", "2", "--trace", folder, "--", self.folder / "exchange"],
                  [hawser, "fabric", "topology", "fat-tree-144", "--svg", folder]]
        return prints, writes

    def refused(self, command, output):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True, timeout=LIMIT,
                              check=False)
        self.assertIn(done.returncode, (1, 2), f"{command}: {done.returncode}: {done.stderr}")
        self.assertNotIn("terminate", done.stderr)
        return done.stderr

    def test_standard_output(self):
        for command in self.programs("/dev/full")[0]:
            with self.subTest(" ".join(map(str, command[1:]))), open("/dev/full", "w", encoding="ascii") as full:
                self.assertRegex(self.refused(command, full), "cannot write .*: No space left on device")

    def test_files(self):
        for command in self.programs("/dev/full")[1]:
            with self.subTest(" ".join(map(str, command[1:]))):
                with tempfile.TemporaryFile("w+") as output:
                    words = self.refused(command, output)
                    output.seek(0)
                    self.assertIn("cannot write", words + output.read())

    @unittest.skipUnless(ROOT, "only root can mount")
    def test_jobs_where_nothing_fits(self):
        """/tmp and /dev/shm have 64 KiB, and then nothing: jobs need neither, and event logs are lost in silence."""
        begin = ["unshare", "--mount", "bash", "-c",
                 'mount -t tmpfs -o size=64k none /dev/shm && mount -t tmpfs -o size=64k none /tmp && '
                 'if [ "$0" = full ]; then ! cp /dev/zero /tmp/fill 2>/dev/null; fi && exec "$@"']
        # What the job needs may itself be below /tmp.
        with tempfile.TemporaryDirectory(prefix="hawser-trust-", dir="/var/tmp") as folder:
            compiled(folder, "exchange")
            for place in PLACES:
                for state in ("empty", "full"):
                    with self.subTest(place, state=state):
                        job = [BUILD / "bin/mpiexec", *PLACES[place], "-x", "HAWSER_EVENT_LOG=/tmp/log.%r", "-n", str(RANKS),
                               f"{folder}/exchange"]
                        done = subprocess.run([*begin, state, *job], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                              timeout=LIMIT, cwd="/", check=False)
                        self.assertEqual((done.returncode, done.stderr), (0, ""))
                        self.assertEqual(len(re.findall(r"^all right$", done.stdout, re.M)), 1, done.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
