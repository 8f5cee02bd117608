#!/usr/bin/env python3
"""The access layer in real processes over `hawser fabric`.  Usage: access_test.py HAWSER PROBE [unittest arguments]"""
import glob
import os
import subprocess
import sys
import unittest

PROBE = sys.argv.pop(2)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "provider"))
from fabric_case import PATIENCE, OnFabric, fabric, main  # noqa: E402


class Access(OnFabric):
    WHAT = ("back-to-back", "--hosts", "2", "--rails", "1", "--ports", "2")

    def probe(self, host, *words):
        return self.start(host, PROBE, *words, stdin=subprocess.PIPE, bufsize=1)

    def test_messages_and_datagrams_wake_who_sleeps(self):
        ends = [self.probe(host, "pingpong", "500") for host in ("n0", "n1")]
        addresses = [end.stdout.readline() for end in ends]
        for end, other in zip(ends, reversed(addresses)):
            end.stdin.write(other)
            end.stdin.flush()
        for end in ends:
            self.assertEqual(end.stdout.readline(), "connected\n")
        for end, word in zip(ends, ("first\n", "second\n")):
            end.stdin.write(word)
            end.stdin.flush()
        for end in ends:
            self.assertRegex(self.finish(end), r"done, slept [1-9]\d* times")

    def test_port_events_wake_and_name_the_port(self):
        end = self.probe("n0", "events")
        self.assertEqual(end.stdout.readline(), "watching\n")
        for command, line in (("down", "event 1 port 2 active 0\n"), ("up", "event 0 port 2 active 1\n")):
            fabric("fault", f"link n0/hw0:2 {command}", "--name", self.name)
            self.assertEqual(end.stdout.readline(), line)
        end.communicate(timeout=PATIENCE)
        self.assertEqual(end.returncode, 0)

    @unittest.skipIf(glob.glob("/sys/class/infiniband/*"), "this host has adapters")
    def test_without_adapters(self):
        lone = subprocess.run([PROBE, "events"], capture_output=True, text=True, timeout=PATIENCE, check=False,
                              env={**os.environ, "LD_LIBRARY_PATH": "", "HAWSER_FABRIC": ""})
        self.assertEqual(lone.returncode, 1)
        self.assertRegex(lone.stderr, "no adapters|libibverbs|ibv_")


if __name__ == "__main__":
    main(*sys.argv[2:])
