#!/usr/bin/env python3
"""A job among other users of its host.  Usage: strangers_test.py BUILD [unittest arguments]"""
import json
import os
import socket
import subprocess
import sys
import unittest

from trust_case import HERE, LIMIT, RANKS, Job, main, ordinary_user, readable_copy

SILENT = 200  # to each port


@unittest.skipUnless(os.getuid() == 0, "two users are needed, and only root can become another")
class Intruder(unittest.TestCase):
    """Another user tries what the kernel lets anybody try: nothing is read, and the job goes on."""

    @classmethod
    def setUpClass(cls):
        cls.folder = readable_copy(cls)
        with open(HERE / "intruder.py", encoding="utf-8") as file:
            cls.program = file.read()

    def intrude(self, place):
        owner, stranger = ordinary_user("nobody"), ordinary_user("daemon")
        job = Job(self, self.folder, place, **owner)
        job.another_round()
        names, ports = job.sockets()
        facts = {"uid": owner["user"], "pids": [*job.ranks, job.process.pid], "names": names, "ports": ports}
        done = subprocess.run(["/usr/bin/python3", "-c", self.program], input=json.dumps(facts), capture_output=True, text=True,
                              timeout=LIMIT, check=False, **stranger)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        # A command line is for everybody; what the environment has (the job's secret address) is not.
        self.assertEqual(result["done"], [])
        self.assertGreater(result["tried"]["open a descriptor"], 100)
        job.another_round()
        job.ends_well()
        return result["tried"]

    def test_in_shared_memory(self):
        self.intrude("shared memory")

    def test_over_sockets(self):
        tried = self.intrude("sockets")
        self.assertGreaterEqual(tried["connect to ports"], 7 * RANKS)
        self.assertGreaterEqual(tried["send to local sockets"], RANKS)  # those that wake neighbours

    def test_over_rails(self):
        self.assertGreaterEqual(self.intrude("rails")["send to local sockets"], RANKS)


class Silent(unittest.TestCase):
    """Connections that say nothing, to every port of a job."""

    @classmethod
    def setUpClass(cls):
        cls.folder = readable_copy(cls)

    def connect(self, ports):
        self.assertEqual(len(ports), RANKS)
        for port in ports * SILENT:
            stranger = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
            self.addCleanup(stranger.close)

    def test_before_the_ranks_have_met(self):
        gate = f"{self.folder}/gate"
        os.mkfifo(gate)
        job = Job(self, self.folder, "sockets", gate=gate)
        self.connect(job.sockets()[1])
        with open(gate, "w", encoding="ascii"):
            job.another_round()
        job.ends_well()

    def test_in_the_middle(self):
        job = Job(self, self.folder, "sockets")
        job.another_round()
        self.connect(job.sockets()[1])
        for _ in range(10):
            job.another_round()
        job.ends_well()


if __name__ == "__main__":
    main(*sys.argv[1:])
