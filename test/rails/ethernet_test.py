#!/usr/bin/env python3
"""Rails of plain Ethernet in real processes: alone, and beside a virtual InfiniBand fabric.

Usage: ethernet_test.py HAWSER TRAFFIC [unittest arguments]

Everything is in a network namespace of its own, whose loopback interface is the Ethernet (25 MB/s) of all hosts; one
case has two namespaces joined by a cable (veth). Where namespaces are not allowed, only what cuts nothing runs.
"""
import os
import subprocess
import sys
import time
import unittest

IN_NAMESPACE = "ETHERNET_TEST_IN_NAMESPACE"
if IN_NAMESPACE not in os.environ:
    allowed = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0
    os.environ[IN_NAMESPACE] = str(int(allowed))
    if allowed:
        os.execvp("unshare", ["unshare", "--net", sys.executable, "-B", *sys.argv])
ALONE = os.environ[IN_NAMESPACE] == "1"
TRAFFIC = sys.argv.pop(2)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "provider"))
from fabric_case import HAWSER, OnFabric, fabric, main  # noqa: E402
from traffic import Traffic  # noqa: E402

MPIEXEC = os.path.join(os.path.dirname(HAWSER), "mpiexec")
in_namespace = unittest.skipUnless(ALONE, "network namespaces are not allowed here")


def ip(*words, namespace=None):
    subprocess.run(["ip", *(["-n", namespace] if namespace else []), *words], check=True)


def setUpModule():
    if ALONE:
        ip("link", "set", "lo", "up")
        subprocess.run("tc qdisc add dev lo root tbf rate 200mbit burst 256k latency 50ms".split(), check=True)


class Ethernet(Traffic, OnFabric):
    WHAT = ("two-switch", "--hosts", "2", "--rails", "1", "--rate", "200MB/s")

    def begin(self, *command, interface="lo"):
        self.start_job([MPIEXEC, *command], HAWSER_NETWORK="rails", HAWSER_RAIL_ETHERNET=interface)

    def both(self):
        self.begin("-n", "2", "--fabric", self.name, TRAFFIC)

    def fault(self, text):
        fabric("fault", text, "--name", self.name)

    def test_alone(self):
        self.begin("-hosts", "a,b", "-n", "2", TRAFFIC)
        self.finish_job()

    def test_one_host_has_only_ethernet(self):
        self.begin("-hosts", "a,b", "-n", "1", HAWSER, "fabric", "run", "--name", self.name, "--host", "n0", "--",
                   TRAFFIC, ":", "-n", "1", TRAFFIC)
        self.finish_job()

    @in_namespace
    def test_infiniband_is_cut_and_comes_back(self):
        self.both()
        for fault in ("link n0/hw0 down", "link n0/hw0 up", "link n1/hw0 blackhole both", "link n1/hw0 clear"):
            self.fault(fault)
            self.goes_on()
        self.finish_job()

    @in_namespace
    def test_ethernet_is_cut_and_comes_back(self):
        self.both()
        for state in ("down", "up", "down", "up"):
            ip("link", "set", "lo", state)
            self.goes_on()
        self.finish_job()

    @in_namespace
    def test_both_are_cut_and_either_comes_back_first(self):
        self.both()
        for first_back in ("infiniband", "ethernet"):
            self.fault("link n0/hw0 down")
            ip("link", "set", "lo", "down")
            self.ask()
            time.sleep(1)  # the partition lasts
            if first_back == "infiniband":
                self.fault("link n0/hw0 up")
            else:
                ip("link", "set", "lo", "up")
            self.answer()
            self.goes_on()
            self.fault("link n0/hw0 up")
            ip("link", "set", "lo", "up")
            self.goes_on()
        self.finish_job()

    @in_namespace
    def test_a_cable_between_two_namespaces(self):
        names = [f"hawser-{os.getpid()}-{i}" for i in range(2)]
        for name in names:
            ip("netns", "add", name)
            self.addCleanup(ip, "netns", "del", name)
        ip("link", "add", "hw0", "netns", names[0], "type", "veth", "peer", "name", "hw0", "netns", names[1])
        for i, name in enumerate(names):
            ip("address", "add", f"10.77.0.{i + 1}/24", "dev", "hw0", namespace=name)
            ip("link", "set", "hw0", "up", namespace=name)
        self.begin("-hosts", "a,b", "-n", "1", "ip", "netns", "exec", names[0], TRAFFIC, ":", "-n", "1", "ip", "netns",
                   "exec", names[1], TRAFFIC, interface="hw0")
        ip("link", "set", "hw0", "down", namespace=names[0])
        self.ask()
        time.sleep(1)  # the partition lasts
        ip("link", "set", "hw0", "up", namespace=names[0])
        self.answer()
        self.goes_on()
        self.finish_job()


if __name__ == "__main__":
    main("--verbose", *sys.argv[2:])
