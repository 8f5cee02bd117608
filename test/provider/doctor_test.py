#!/usr/bin/env python3
"""`hawser doctor` on hosts where something is wrong.  Usage: doctor_test.py HAWSER [unittest arguments]"""
import os
import resource
import subprocess
import unittest

from fabric_case import HAWSER, PATIENCE, ROOT, OnFabric, fabric, main


def soft_limit(which, value):
    """For a child: its limit, whatever it was."""
    def lower():
        resource.setrlimit(which, (value, resource.getrlimit(which)[1]))
    return lower


def doctor(*words, prefix=(), **how):
    return subprocess.run([*prefix, HAWSER, "doctor", *words], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          **how)


# The fabric's adapters are there for everybody, but whoever may lock all memory has no limit to be told of.
WITHOUT_RIGHT = ["setpriv", "--bounding-set=-ipc_lock"] if os.geteuid() == 0 else []


class Doctor(OnFabric):
    WHAT = ("two-switch", "--rails", "2")

    def look(self, *words, before=(), **how):
        return doctor(*words, prefix=[*before, *self.fabric.on_host("n0")], **how)

    def expect_wrong(self, done, *texts):
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for text in texts:
            self.assertRegex(done.stdout, text)

    def test_all_is_well(self):
        if os.geteuid() != 0 and resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] not in (-1, resource.RLIM_INFINITY):
            self.skipTest("this user may not lock much memory")
        done = self.look()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for rail in (0, 1):
            self.assertRegex(done.stdout, rf"ok +hw{rail}/1: active, .* LID \d+")
        self.assertIn("nothing is wrong", done.stdout)
        self.assertEqual(self.look("--wrong").stdout, "")

    def test_a_dead_port(self):
        fabric("fault", "link n0/hw1 down", "--name", self.name)
        done = self.look("--wrong")
        self.expect_wrong(done, "WRONG +hw1/1: is not active", "-> look at the cable")
        self.assertNotIn("hw0", done.stdout)

    def test_limits(self):
        for which, value, text in ((resource.RLIMIT_MEMLOCK, 65536, r"locked memory: 64 KiB \(ulimit -l\)"),
                                   (resource.RLIMIT_NOFILE, 100, r"open files: 100 \(ulimit -n\)"),
                                   (resource.RLIMIT_FSIZE, 1 << 20, r"size of files: 1 MiB \(ulimit -f\)")):
            with self.subTest(text):
                self.expect_wrong(self.look("--wrong", before=WITHOUT_RIGHT, preexec_fn=soft_limit(which, value)), f"WRONG +{text}", "limits.conf")

    def test_settings(self):
        self.expect_wrong(self.look("--wrong", env={**os.environ, "HAWSER_RAIL_PATHS": "none"}),
                          "WRONG +settings: HAWSER_RAIL_PATHS=none")

    def test_wrong_words(self):
        done = doctor("--nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown option --nonsense", done.stderr)


class DoctorPaths(OnFabric):
    WHAT = ("two-switch", "--lmc", "2")

    def test_lids_that_no_job_uses(self):
        done = doctor(prefix=self.fabric.on_host("n0"))
        self.assertNotIn("has 4 LIDs", done.stdout)
        done = doctor(prefix=self.fabric.on_host("n0"), env={**os.environ, "HAWSER_RAIL_PATHS": "1"})
        self.assertRegex(done.stdout, r"note +hw0/1: has 4 LIDs \(LMC 2\).*\n +-> HAWSER_RAIL_PATHS=auto")


class DoctorRoce(OnFabric):
    WHAT = ("two-switch", "--parameters", os.path.join(ROOT, "test", "rails", "roce.parameters"))

    def test_a_port_without_an_address(self):
        fabric("fault", "gid n0/hw0 drop 0", "--name", self.name)
        done = doctor("--wrong", prefix=self.fabric.on_host("n0"))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"WRONG +hw0/1: is active and has no GID\n +-> give its network interface an IP")


class DoctorPlainEthernet(OnFabric):
    WHAT = ("two-switch", "--rails", "2")

    def test_interfaces_need_no_gid(self):
        done = doctor(prefix=self.fabric.on_host("n0"), env={**os.environ, "HAWSER_RAIL_ETHERNET": "lo"})
        self.assertRegex(done.stdout, r"ok +lo/1: active, .*, plain Ethernet, over TCP")
        self.assertRegex(done.stdout, r"ok +hw0/1: active")


class DoctorWithoutAdapters(unittest.TestCase):
    def test_it_says_so(self):
        done = doctor()
        self.assertIn("sockets", done.stdout)


if __name__ == "__main__":
    main()
