#!/usr/bin/env python3
"""Open MPI of Debian, unmodified, over `hawser fabric`: its openib, and UCX over verbs. And MPICH, over UCX.

  mpi_over_fabric.py HAWSER [unittest arguments]      as ctest runs it: 2 and 8 ranks
  mpi_over_fabric.py HAWSER --all                     2, 8 and 16 ranks, on 2 and on 4 hosts, by every transport

Every virtual host is a node of its own to mpirun: a daemon for each is started by what mpirun takes for a remote
shell, here a script that runs it on the host. Shared memory between ranks is switched off, so all of
mpi_exchange.c (whose data is checked) goes over the fabric.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from fabric_case import HAWSER, OnFabric, fabric, main, needs
from hawser_lab import open_mpi

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 450  # seconds; only a hang takes so long
OPENIB = (*open_mpi.OPENIB, "--mca", "osc", "rdma")
TRANSPORTS = {"openib": OPENIB, **{layers: open_mpi.ucx(layers) for layers in ("rc_v", "ud_v", "rc_v,ud_v")}}

with_openmpi = needs("mpirun.openmpi", "mpicc.openmpi", "/usr/lib/*/libucp.so.0")


class OverFabric(OnFabric):
    WHAT = ("two-switch", "--hosts", "4")
    COMPILER = "mpicc.openmpi"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="hawser-mpi-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.program = os.path.join(cls.folder, "mpi_exchange")
        subprocess.run([cls.COMPILER, "-O1", "-o", cls.program, os.path.join(HERE, "mpi_exchange.c")], check=True,
                       stderr=subprocess.DEVNULL)

    def popen(self, command):
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def on_hosts(self, ranks, hosts, transport, *program):
        """Starts the program with the ranks spread evenly over virtual hosts that are nodes."""
        process = self.popen(open_mpi.mpirun(self.fabric, self.folder, hosts, ranks, transport, *(program or (self.program,))))
        self.started.append(process)
        return process

    def finish(self, process):
        output, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, output)
        return output

    def counter(self, name):
        return int(re.search(rf"(\d+) {name}", fabric("status", "--name", self.name).stdout).group(1))

    def check(self, ranks, hosts, name, *program):
        with self.subTest(ranks=ranks, hosts=hosts, transport=name):
            before = self.counter("bytes moved")
            process = self.on_hosts(ranks, [f"n{i}" for i in range(hosts)], TRANSPORTS[name], *program)
            self.assertIn(f"right: {ranks} ranks", self.finish(process))
            # The exchanges between hosts alone are more than this.
            self.assertGreater(self.counter("bytes moved"), before + 3_000_000, "it did not go over the fabric")


@with_openmpi
class MpiOpenIb(OverFabric):
    def test_2_ranks(self):
        self.check(2, 2, "openib")

    def test_8_ranks(self):
        self.check(8, 4, "openib")

    def test_one_node(self):
        """Ranks that mpirun takes for those of one node, each on a virtual host of its own."""
        words = []
        for rank in range(4):
            words += [":"] if rank else []
            words += ["-np", "1", *self.fabric.on_host(f"n{rank}", self.program, "ring", "flood", "allreduce", "alltoall")]
        process = self.popen([*open_mpi.MPIRUN, *OPENIB, *words])
        self.started.append(process)
        self.assertIn("right: 4 ranks", self.finish(process))


@with_openmpi
class MpiUcx(OverFabric):
    def test_2_ranks(self):
        for name in ("rc_v", "ud_v", "rc_v,ud_v"):
            self.check(2, 2, name)

    def test_8_ranks(self):
        self.check(8, 4, "rc_v")
        self.check(8, 4, "ud_v")


@needs("mpicc.mpich", "/usr/lib/*/libucp.so.0")
class Mpich(OverFabric):
    """Started by Hawser's mpiexec."""
    COMPILER = "mpicc.mpich"

    def run_job(self, ranks, transport):
        with self.subTest(ranks=ranks, transport=transport):
            before = self.counter("bytes moved")
            command = [os.path.join(os.path.dirname(HAWSER), "mpiexec"), "-n", str(ranks), "--fabric", self.name,
                       "-x", f"UCX_TLS={transport},self", self.program]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.started.append(process)
            self.assertIn(f"right: {ranks} ranks", self.finish(process))
            self.assertGreater(self.counter("bytes moved"), before + 3_000_000, "it did not go over the fabric")

    def test_2_ranks(self):
        self.run_job(2, "ud_v")

    def test_4_ranks(self):
        self.run_job(4, "rc_v")


TWO_SPINES = "".join(f"""Switch 8 "LEAF{leaf}"
[1] "n{2 * leaf}/hw0"[1]
[2] "n{2 * leaf + 1}/hw0"[1]
[5] "SPINE0"[{leaf + 1}]
[6] "SPINE1"[{leaf + 1}]

""" for leaf in (0, 1)) + "".join(f"""Switch 8 "SPINE{spine}"
[1] "LEAF0"[{5 + spine}]
[2] "LEAF1"[{5 + spine}]

""" for spine in (0, 1)) + "".join(f"""Hca 1 "n{host}/hw0"
[1] "LEAF{host // 2}"[{host % 2 + 1}]

""" for host in range(4))


@with_openmpi
class MpiMigration(OverFabric):
    """Hosts on two leaves, with a way over each of two spines: LIDs of the same port take different ways."""
    # The time-outs of openib are made for large clusters: 4.3 s, eight times.
    SHORT = ("--mca", "btl_openib_ib_timeout", "12")
    APM = ("--mca", "btl_openib_max_lmc", "0", "--mca", "btl_openib_enable_apm_over_lmc", "1")

    def setUp(self):
        with tempfile.NamedTemporaryFile("w", suffix=".net") as file:
            file.write(TWO_SPINES)
            file.flush()
            self.WHAT = (file.name, "--lmc", "1")
            super().setUp()

    def pull_the_way(self, *options):
        """The cable from n0's leaf to the spine that leads to the first LIDs is pulled while messages go round."""
        process = self.on_hosts(2, ["n0", "n2"], OPENIB + self.SHORT + options, self.program, "--seconds", "8", "ring")
        for line in process.stdout:
            if line.startswith("running"):
                break
        fabric("fault", "link LEAF0:6 down", "--name", self.name)
        output = process.stdout.read()
        return process.wait(PATIENCE), output, fabric("status", "--name", self.name).stdout

    def test_openib_survives_a_pulled_cable(self):
        code, output, status = self.pull_the_way(*self.APM)
        self.assertEqual(code, 0, output)
        self.assertIn("right: 2 ranks", output)
        self.assertRegex(status, r"link LEAF0:6 down\n(.*\n)*.*n[02]/hw0 qp \d+ migrated: LID")

    def test_without_migration_it_does_not(self):
        code, output, status = self.pull_the_way()
        self.assertNotEqual(code, 0)
        self.assertIn("RETRY EXCEEDED", output)
        self.assertNotIn("migrated", status)


def everything():
    """The full matrix, as a case of its own."""
    @with_openmpi
    class Everything(OverFabric):
        def test_all(self):
            for name in TRANSPORTS:
                for hosts in (2, 4):
                    for ranks in (2, 8, 16):
                        if ranks >= hosts:
                            self.check(ranks, hosts, name)
                            print(f"{name}, {ranks} ranks on {hosts} hosts: done", flush=True)
    return Everything


if __name__ == "__main__":
    if "--all" in sys.argv:
        sys.argv.remove("--all")
        Everything = everything()
        sys.argv.append("Everything")
    main(*sys.argv[2:])
