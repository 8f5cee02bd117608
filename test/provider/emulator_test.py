#!/usr/bin/env python3
"""Unmodified verbs programs of Debian over `hawser fabric`.  Usage: emulator_test.py HAWSER [unittest arguments]

Every case has a fabric of its own name and takes it down. Programs that talk to each other over TCP first get a
free port; the second is started when the first listens.
"""
import os
import pty
import re
import signal
import sys
import time
import unittest

import perftest_matrix
from fabric_case import PATIENCE, OnFabric, fabric, main, needs, read_until


@needs("ibv_devices", "ibv_devinfo", "ibv_asyncwatch")
class Devices(OnFabric):
    def test_list(self):
        output = self.run_on("n0", "ibv_devices")
        self.assertRegex(output, r"hw0\s+0002c903")
        self.assertRegex(output, r"hw1\s+0002c903")

    def test_details(self):
        output = self.run_on("n1", "ibv_devinfo", "-v")
        self.assertIn("PORT_ACTIVE", output)
        self.assertIn("max_qp:\t\t\t\t65536", output)

    def test_paths_that_programs_look_at(self):
        """What UCX and Open MPI ask of the file system before they use a device."""
        look = """if True:
            import os, stat
            print(stat.S_ISCHR(os.stat('/dev/infiniband/uverbs1').st_mode), os.path.isdir('/sys/class/infiniband'),
                  open('/sys/class/infiniband_verbs/uverbs1/ibdev').read().strip(),
                  os.path.exists('/dev/infiniband/uverbs2'), os.path.exists('/dev/null'))"""
        self.assertEqual(self.run_on("n0", sys.executable, "-c", look), "True True hw1 False True\n")

    def test_port_goes_down_and_up(self):
        master, slave = pty.openpty()  # or its lines would wait in a buffer
        watcher = self.start("n0", "ibv_asyncwatch", "-d", "hw0", stdout=slave)
        os.close(slave)

        def until(text):
            read_until(lambda seen: text in seen, master, PATIENCE)

        until(b"async event FD")
        fabric("fault", "link n0/hw0 down", "--name", self.name)
        until(b"PORT_ERR")
        fabric("fault", "link n0/hw0 up", "--name", self.name)
        until(b"PORT_ACTIVE")
        watcher.send_signal(signal.SIGINT)
        os.close(master)


@needs("ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong", "ibv_srq_pingpong")
class PingPong(OnFabric):
    def test_polling(self):
        for kind in ("rc", "uc", "ud", "srq"):
            with self.subTest(kind):
                self.assertIn("1000 iters", self.pair(f"ibv_{kind}_pingpong"))

    def test_events(self):
        for kind in ("rc", "uc", "ud", "srq"):
            with self.subTest(kind):
                self.assertIn("1000 iters", self.pair(f"ibv_{kind}_pingpong", "-e"))

    def test_shared_by_name(self):
        """XRC: requests name the shared receive queue that they are for; the server has two clients."""
        for events in ([], ["-e"]):
            with self.subTest(events):
                command = ["ibv_xsrq_pingpong", "-n", "200", *events]
                server, port = self.serve(*command, "-c", "2")
                clients = [self.start("n1", *command, "-p", str(port), "localhost") for _ in range(2)]
                for process in (*clients, server):
                    self.assertIn("success", self.finish(process))

    def test_data_arrives(self):
        self.assertIn("1000 iters", self.pair("ibv_rc_pingpong", "-c"))

    def test_timestamps(self):
        """Completions of extended queues carry the time."""
        self.assertIn("completion clock cycles", self.pair("ibv_rc_pingpong", "-t"))


@needs("ib_send_bw", "ib_write_lat")
class PerfTest(OnFabric):
    """A sample of what `perftest_matrix.py --all` runs: every program, transport and way to post or complete."""
    def test_sample(self):
        for program, words in perftest_matrix.sample():
            with self.subTest(" ".join([program, *words])):
                perftest_matrix.run(self, program, words)


@needs("fi_pingpong", "fi_info")
class Libfabric(OnFabric):
    """Its provider of verbs. Connected endpoints need rdma_cm, which is not there; reliable datagrams do not."""
    def test_finds_adapters(self):
        output = self.run_on("n0", "fi_info", "-p", "verbs")
        for domain, kind in (("hw0", "FI_EP_MSG"), ("hw1-dgram", "FI_EP_DGRAM")):
            self.assertRegex(output, rf"domain: {domain}\n *version: [0-9.]+\n *type: {kind}\n")

    def test_reliable_datagrams(self):
        command = ["fi_pingpong", "-c", "-p", "verbs", "-e", "rdm", "-d", "hw0-dgram"]
        server, port = self.serve(*command, port_option="-B")
        output = self.finish(self.start("n1", *command, "-P", str(port), "localhost"))
        self.assertRegex(output, r"\n1m +10 +=10 ")
        self.finish(server)


class Errors(unittest.TestCase):
    """What is asked wrongly is answered clearly, and nothing hangs."""
    def refuse(self, text, *words):
        done = fabric(*words, check=False)
        self.assertIn(done.returncode, (1, 2), done.stderr)
        self.assertIn(text, done.stderr)

    def test_no_fabric(self):
        name = f"nobody-{os.getpid()}"
        for words in (["status"], ["down"], ["fault", "link n0/hw0 down"], ["run", "--", "true"]):
            self.refuse("is not up", words[0], "--name", name, *words[1:])

    def test_bad_topology(self):
        self.refuse("cannot read '/nonexistent'", "up", "/nonexistent")
        self.refuse("CMakeLists.txt:", "up", os.path.join(os.path.dirname(__file__), "CMakeLists.txt"))
        self.refuse("lmc", "up", "back-to-back", "--lmc", "9")
        self.refuse("--rate", "up", "back-to-back", "--rate", "fast")

    def test_option_errors_name_the_program(self):
        self.refuse("hawser fabric up: ", "up", "back-to-back", "--nonsense")
        self.refuse("hawser fabric topology: ", "topology", "back-to-back", "--nonsense")
        self.refuse("hawser fabric: ", "status", "--nonsense")

    def test_words(self):
        self.assertEqual(fabric("nonsense", check=False).returncode, 2)
        self.assertEqual(fabric("up", check=False).returncode, 2)
        self.assertEqual(fabric("run", check=False).returncode, 2)


class OnRunningFabric(OnFabric):
    def refuse(self, text, *words):
        done = fabric(*words, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(text, done.stderr)

    def test_errors(self):
        name = ["--name", self.name]
        self.refuse("already", "up", "back-to-back", *name)
        self.refuse("n7", "fault", "link n7/hw0 down", *name)
        self.refuse("explode", "fault", "explode", *name)
        self.refuse("no host 'n9'", "run", "--host", "n9", *name, "--", "true")

    def test_status_and_picture(self):
        self.assertIn("2 hosts, 4 adapters", fabric("status", "--name", self.name).stdout)
        self.assertIn("n0/hw0", fabric("topology", "--name", self.name).stdout)
        picture = fabric("topology", "--svg", "/dev/stdout", "--name", self.name).stdout
        self.assertIn("</svg>", picture)

    def start_traffic(self):
        """Two programs that write without end, and do."""
        command = ["ib_write_bw", "-d", "hw0", "-F", "-D", "600"]
        server, port = self.serve(*command)
        client = self.start("n1", *command, "-p", str(port), "localhost")
        end = time.monotonic() + PATIENCE
        while self.completions() < 1000:
            self.assertIsNone(client.poll(), "the client ended early")
            self.assertLess(time.monotonic(), end, "too few completions")
            time.sleep(0.01)
        return server, client

    def completions(self):
        return int(re.search(r"(\d+) completions", fabric("status", "--name", self.name).stdout).group(1))

    @needs("ib_write_bw")
    def test_killed_client(self):
        """The other end runs out of retries, and the fabric goes on."""
        server, client = self.start_traffic()
        os.kill(server.pid, signal.SIGKILL)
        output, _ = client.communicate(timeout=PATIENCE)
        self.assertNotEqual(client.returncode, 0)
        self.assertIn("status 12", output.lower())
        self.assertNotIn("client: process", fabric("status", "--name", self.name).stdout)

    @needs("ib_write_bw")
    def test_dead_daemon(self):
        """Programs are told, and do not poll for ever."""
        server, client = self.start_traffic()
        fabric("down", "--name", self.name)
        output, _ = client.communicate(timeout=PATIENCE)
        self.assertNotEqual(client.returncode, 0)
        self.assertEqual(output.count(f"the daemon of fabric '{self.name}' has ended"), 1, output)
        server.communicate(timeout=PATIENCE)


if __name__ == "__main__":
    main(*sys.argv[2:])
