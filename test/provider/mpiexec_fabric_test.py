#!/usr/bin/env python3
"""`mpiexec --fabric`: Hawser's own ranks on virtual hosts.  Usage: mpiexec_fabric_test.py HAWSER [unittest arguments]"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from fabric_case import HAWSER, PATIENCE, OnFabric, daemon_of, fabric, main, needs

BIN = os.path.dirname(HAWSER)
HERE = os.path.dirname(os.path.abspath(__file__))
# How many ranks MPI itself takes for those of this rank's node.
NODE_SIZE = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Comm node;
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &size);
  printf("node of %d\\n", size);
  MPI_Comm_free(&node);
  MPI_Finalize();
  return 0;
}
"""
WHERE = "echo $HAWSER_JOB_HOST $HAWSER_FABRIC_HOST $HAWSER_FABRIC_ADAPTERS $HAWSER_FABRIC"


def sockets():
    with open("/proc/net/unix", encoding="ascii", errors="replace") as file:
        return file.read()


class MpiexecFabric(unittest.TestCase):
    """A fabric that mpiexec brings up goes with the job, however that ends."""

    def start(self, *words):
        process = subprocess.Popen([os.path.join(BIN, "mpiexec"), *words], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def run_job(self, *words, code=0):
        process = self.start(*words)
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, code, errors)
        self.assert_gone(process)
        return output, errors

    def name(self, process):
        return f"hawser/{os.getuid()}/mpiexec-{process.pid}\n"

    def assert_gone(self, process):
        self.assertNotIn(self.name(process), sockets())

    def test_hosts_are_nodes(self):
        output, _ = self.run_job("-n", "4", "--fabric", "two-switch --hosts 2 --rails 3", "-hosts", "n0,n1", "-ppn", "2", "-l",
                                 "sh", "-c", WHERE)
        found = sorted(output.splitlines())
        for rank, line in enumerate(found):
            self.assertRegex(line, rf"^\[{rank}\] n{rank // 2} n{rank // 2} 3 mpiexec-\d+$")
        self.assertEqual(len(found), 4)

    def test_all_hosts_unless_some_are_named(self):
        output, _ = self.run_job("-n", "3", "--fabric=single-switch --hosts 3", "sh", "-c", WHERE)
        self.assertEqual(sorted(line.split()[0] for line in output.splitlines()), ["n0", "n1", "n2"])

    @needs("ibv_devinfo")
    def test_ranks_find_their_adapters(self):
        output, _ = self.run_job("-n", "2", "--fabric", "back-to-back", "ibv_devinfo", "-d", "hw1")
        self.assertEqual(output.count("PORT_ACTIVE"), 2)

    def test_messages_between_virtual_hosts(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("exchange", None), ("node_size", NODE_SIZE)):
                source = os.path.join(HERE, "mpi_exchange.c") if text is None else os.path.join(folder, name + ".c")
                if text is not None:
                    with open(source, "w", encoding="ascii") as file:
                        file.write(text)
                subprocess.run([os.path.join(BIN, "mpicc"), "-o", os.path.join(folder, name), source], check=True)
            job = ("-n", "4", "--fabric", "two-switch", "-ppn", "2")
            output, _ = self.run_job(*job, os.path.join(folder, "node_size"))
            self.assertEqual(output, "node of 2\n" * 4)
            output, _ = self.run_job(*job, os.path.join(folder, "exchange"), "ring", "flood", "allreduce", "alltoall")
            self.assertIn("right: 4 ranks", output)

    def test_mistakes(self):
        for words, text in ((["nobody"], "no fabric 'nobody' is up"), (["two-switch --lmc 9"], "lmc"),
                            ([""], "needs a fabric's name"), (["back-to-back", "-hosts", "n0,n7"], "no host 'n7' (n0 to n1)")):
            with self.subTest(words):
                _, errors = self.run_job("-n", "2", "--fabric", *words, "true", code=2)
                self.assertIn(text, errors)

    def test_a_job_that_fails(self):
        self.run_job("-n", "2", "--fabric", "back-to-back", "sh", "-c", "exit 3", code=3)

    def start_sleepers(self):
        process = self.start("-n", "2", "--fabric", "back-to-back", "sh", "-c", "echo ready; exec sleep 1000")
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assertIn(self.name(process), sockets())
        return process

    def test_interrupted(self):
        process = self.start_sleepers()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE), 128 + signal.SIGINT)
        self.assert_gone(process)

    def test_the_fabric_is_killed(self):
        process = self.start_sleepers()
        os.kill(daemon_of(f"mpiexec-{process.pid}"), signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("mpiexec: the job's virtual fabric (--fabric 'back-to-back') has ended before the job", errors)
        # The kernel closes what the daemon had open one after the other: its listening socket may go last.
        end = time.monotonic() + PATIENCE
        while self.name(process) in sockets() and time.monotonic() < end:
            time.sleep(0.01)
        self.assert_gone(process)

    def test_killed(self):
        process = self.start_sleepers()
        process.kill()
        process.wait(PATIENCE)
        end = time.monotonic() + PATIENCE
        while self.name(process) in sockets():
            self.assertLess(time.monotonic(), end, "the fabric stays up without mpiexec")
            time.sleep(0.01)


class MpiexecOnRunningFabric(OnFabric):
    def test_it_stays_up(self):
        done = subprocess.run([os.path.join(BIN, "mpiexec"), "-n", "2", "--fabric", self.name, "-x", "LD_LIBRARY_PATH=/own",
                               "sh", "-c", WHERE + "; echo $LD_LIBRARY_PATH"], capture_output=True, text=True,
                              timeout=PATIENCE, check=True)
        self.assertIn(f"n1 n1 2 {self.name}\n", done.stdout)
        self.assertEqual(len(re.findall(r"^/.*/lib/verbs:/own$", done.stdout, re.M)), 2, done.stdout)
        self.assertIn("2 hosts", fabric("status", "--name", self.name).stdout)

    def start_idle(self, **variables):
        """A job whose ranks have exchanged messages, and of which rank 0 now waits in MPI for rank 1."""
        job = subprocess.Popen([os.path.join(BIN, "mpiexec"), "-n", "2", "--stdin", "1", "--fabric", self.name,
                                os.path.join(BIN, "..", "test", "idle_ranks")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "HAWSER_NETWORK": "rails", **variables})
        self.started.append(job)
        line = job.stdout.readline()
        self.assertEqual(line, "running\n", "" if line else job.communicate(timeout=PATIENCE))
        return job

    def assert_ended(self, job):
        _, errors = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 1, errors)
        self.assertEqual(errors.count(f"mpiexec: the job's virtual fabric (--fabric '{self.name}') has ended before the job"),
                         1, errors)
        for text in ("has ended, and its adapters with it", "is not up"):
            self.assertLessEqual(errors.count(text), 2, errors)  # once for each rank, if it lives so long

    def test_its_daemon_is_killed(self):
        job = self.start_idle()
        os.kill(daemon_of(self.name), signal.SIGKILL)
        self.assert_ended(job)
        self.start_idle_after_all()

    def start_idle_after_all(self):
        """The name is free again, for another fabric and another job."""
        fabric("up", *self.WHAT, "--name", self.name)
        _, errors = self.start_idle().communicate(timeout=PATIENCE)
        self.assertNotIn("has ended before the job", errors)

    def test_it_is_taken_down(self):
        job = self.start_idle()
        fabric("down", "--name", self.name)
        self.assert_ended(job)

    def test_its_daemon_is_killed_before_the_ranks_begin(self):
        """They are no MPI programs, and would never notice."""
        job = subprocess.Popen([os.path.join(BIN, "mpiexec"), "-n", "2", "--fabric", self.name, "sh", "-c",
                                "echo ready; exec sleep 1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(job)
        self.assertEqual(job.stdout.readline(), "ready\n")
        os.kill(daemon_of(self.name), signal.SIGKILL)
        self.assert_ended(job)

    def test_it_is_used_by_several_jobs(self):
        jobs = [self.start_idle() for _ in range(2)]
        jobs[0].kill()
        jobs[0].communicate(timeout=PATIENCE)
        _, errors = jobs[1].communicate(timeout=PATIENCE)
        self.assertEqual((jobs[1].returncode, errors), (0, ""))
        self.assertIn("2 hosts", fabric("status", "--name", self.name).stdout)

    def test_the_event_log_has_the_times_of_the_clock_and_the_attempts(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "events.0")
            begin = time.monotonic()
            job = self.start_idle(HAWSER_EVENT_LOG=os.path.join(folder, "events.%r"), HAWSER_RAIL_DATAGRAMS="0")
            fabric("fault", "link n0/hw0 down", "--name", self.name)
            end = time.monotonic() + PATIENCE
            while " attempt=4 " not in self.text_of(log):
                self.assertLess(time.monotonic(), end, self.text_of(log))
                time.sleep(0.01)
            fabric("fault", "link n0/hw0 up", "--name", self.name)
            _, errors = job.communicate(timeout=PATIENCE)
            self.assertEqual(job.returncode, 0, errors)
            lines = self.text_of(log).splitlines()
        for line in lines:
            self.assertGreater(float(line.split()[0]), begin, line)
        attempts = [re.search(r"attempt=(\d+) reason=(\w+)", line) for line in lines if "event=attempt" in line]
        self.assertEqual([found.groups() for found in attempts[:3]], [(str(n), "port_down") for n in (1, 2, 4)], lines)

    @staticmethod
    def text_of(path):
        if not os.path.exists(path):
            return ""
        with open(path, encoding="ascii") as file:
            return file.read()


class MpiexecServiceLevels(OnFabric):
    """Four hosts on a subnet with layered routing: the library asks the subnet administrator which levels to use."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        parameters = os.path.join(self.folder.name, "parameters")
        with open(parameters, "w", encoding="ascii") as file:
            file.write("service-levels 4\n")
        self.program = os.path.join(self.folder.name, "exchange")
        subprocess.run([os.path.join(BIN, "mpicc"), "-o", self.program, os.path.join(HERE, "mpi_exchange.c")], check=True)
        self.WHAT = ("two-switch", "--hosts", "4", "--parameters", parameters)
        super().setUp()

    def run_job(self, code=0, **variables):
        """What the job says, and how many more packets went on another level than they should, and records were given."""
        def counters():
            found = re.search(r"(\d+) packets on another than their path record says; (\d+) path records given",
                              fabric("status", "--name", self.name).stdout)
            return [int(number) for number in found.groups()]
        before = counters()
        done = subprocess.run([os.path.join(BIN, "mpiexec"), "-n", "4", "--fabric", self.name, self.program, "ring", "flood",
                               "allreduce", "alltoall"], env={**os.environ, "HAWSER_NETWORK": "rails", **variables},
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode == 0, code == 0, done.stdout + done.stderr)
        return done.stdout + done.stderr, *(after - first for after, first in zip(counters(), before))

    def test_every_packet_goes_on_the_level_of_its_path_record(self):
        output, wrong, given = self.run_job(HAWSER_RAIL_SERVICE_LEVEL="ask", HAWSER_STATS="on")
        self.assertIn("right: 4 ranks", output)
        self.assertEqual(wrong, 0)
        self.assertGreaterEqual(given, 4)
        self.assertIn("path_queries", output)
        self.assertNotIn("path_records_unavailable", output)

    def test_without_asking_it_does_not(self):
        output, wrong, given = self.run_job(HAWSER_RAIL_SERVICE_LEVEL="0")
        self.assertIn("right: 4 ranks", output)
        self.assertGreater(wrong, 0)
        self.assertEqual(given, 0)

    def test_a_dead_administrator_delays_the_start_only(self):
        for rail in (0, 1):
            self.fabric.ask("fault", f"adapter n0/hw{rail} dying")
        done = subprocess.run([os.path.join(BIN, "mpiexec"), "-n", "2", "--fabric", self.name, "-hosts", "n1,n2", self.program,
                               "ring"], env={**os.environ, "HAWSER_RAIL_SERVICE_LEVEL": "ask", "HAWSER_STATS": "on"},
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertIn("right: 2 ranks", done.stdout, done.stderr)
        self.assertIn("path_records_unavailable", done.stdout + done.stderr)

    def test_mistakes(self):
        for name, value, text in (("PARTITION", "0x8001", "hw0 port 1 is not in partition 0x8001"),
                                  ("PARTITION", "0x8000", "must be default or a P_Key"),
                                  ("SERVICE_LEVEL", "16", "must be auto, ask, or a number from 0 to 15")):
            with self.subTest(value):
                output, _, _ = self.run_job(code=1, **{f"HAWSER_RAIL_{name}": value})
                self.assertIn(text, output)


if __name__ == "__main__":
    main(*sys.argv[2:])
