"""`hawser top` finds processes of this user by their open files and shows their paths, once or again and again."""

import json
import os
import signal
import subprocess
import sys
import unittest

HAWSER, SAMPLE, MPIEXEC, IDLE = sys.argv[1:5]


def top(*words):
    return subprocess.run([HAWSER, "top", *words], capture_output=True, text=True, timeout=120)


class Top(unittest.TestCase):
    def setUp(self):
        self.job = f"top-test-{os.getpid()}"
        self.sample = subprocess.Popen([SAMPLE, self.job], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.child = int(self.sample.stdout.readline())

    def tearDown(self):
        self.sample.stdin.close()
        self.assertEqual(self.sample.wait(timeout=60), 0)
        self.sample.stdout.close()

    def test_shows_paths_with_their_state(self):
        found = top("--once", "--job", self.job)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertIn("1 process, 2 paths, 1 not ready", found.stdout)
        self.assertIn("8 ranks, policy auto", found.stdout)
        lines = [line.split() for line in found.stdout.splitlines() if "mlx4" in line and "event=" not in line]
        # What is in trouble comes first.
        self.assertEqual(lines[0][:6], ["3", "5", "1", "mlx4_1/2", "2", "failed"])
        self.assertEqual(lines[0][-2:], ["port", "down"])
        self.assertEqual(lines[1][:6], ["3", "5", "0", "mlx4_0/1", "0", "ready"])
        self.assertGreater(float(lines[1][6]), 0)
        self.assertEqual(float(lines[1][7]), 4000)
        self.assertIn("rank=3 peer=5 subchannel=1 port=mlx4_1/2 path=2 incarnation=1 event=condition_changed "
                      "condition=failed reason=port_down", found.stdout)

    def test_tells_programs_everything(self):
        found = top("--once", "--json", "--pid", str(self.sample.pid))
        self.assertEqual(found.returncode, 0, found.stderr)
        processes = json.loads(found.stdout)
        self.assertEqual(len(processes), 1)
        process = processes[0]
        # Not the forked child's, although it has the same file.
        self.assertEqual(process["pid"], self.sample.pid)
        self.assertEqual(process["counters"]["failures"], 1)
        good, bad = process["paths"]
        self.assertGreater(good["bytes_per_second"], 0)
        self.assertGreaterEqual(good["bytes_in_flight"], 1000)
        self.assertEqual((bad["state"], bad["failures"], bad["last_reason"]), ("failed", 1, "port down"))
        both = json.loads(top("--once", "--json", "--job", self.job).stdout)
        self.assertEqual([p["pid"] for p in both], [self.sample.pid])

    def test_goes_on_until_interrupted(self):
        live = subprocess.Popen([HAWSER, "top", "--job", self.job, "--interval", "0.05"], stdout=subprocess.PIPE, text=True)
        heads = 0
        for line in live.stdout:
            heads += " not ready, " in line
            if heads == 3:
                break
        live.send_signal(signal.SIGINT)
        live.communicate(timeout=60)
        self.assertEqual(live.returncode, 0)
        self.assertEqual(heads, 3)

    def test_refuses_what_makes_no_sense(self):
        self.assertEqual(top("--interval", "0").returncode, 2)
        wrong = top("--nonsense")
        self.assertEqual(wrong.returncode, 2)
        self.assertTrue(wrong.stderr.startswith("hawser top: "), wrong.stderr)

    def test_what_is_not_there_is_an_error_that_names_what_is(self):
        for words in (["--once"], ["--once", "--json"], []):
            none = top(*words, "--job", "no such job")
            self.assertEqual(none.returncode, 1)
            self.assertIn("hawser top: no MPI job 'no such job' of this user runs here", none.stderr)
            self.assertIn(self.job, none.stderr)
            if "--json" in words:
                self.assertEqual(json.loads(none.stdout), [])
        none = top("--once", "--pid", str(os.getpid()))
        self.assertEqual(none.returncode, 1)
        self.assertIn(f"no MPI process {os.getpid()} of this user runs here", none.stderr)

    def test_ends_with_the_job_that_it_was_asked_for(self):
        live = subprocess.Popen([HAWSER, "top", "--job", self.job, "--interval", "0.05"], stdout=subprocess.PIPE, text=True)
        self.assertIn("1 process", live.stdout.readline())
        self.sample.stdin.close()
        self.sample.wait(timeout=60)
        out, _ = live.communicate(timeout=60)
        self.assertEqual(live.returncode, 0)
        self.assertTrue(out.endswith("the job has ended\n"), out)


class WithoutRails(unittest.TestCase):
    """Jobs that need none: ranks of one host, and of two over sockets."""

    def run_job(self, *words, **variables):
        job = subprocess.Popen([MPIEXEC, "-n", "2", "--stdin", "1", *words, "sh", "-c", 'echo "$HAWSER_JOB_ID" >&2; exec "$0"', IDLE],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **variables})
        self.assertEqual(job.stdout.readline(), "running\n")
        return job

    def end(self, job):
        out, err = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0, err)
        return err

    def test_are_shown_as_what_they_are(self):
        for words in ([], ["-hosts", "a,b"]):
            job = self.run_job(*words)
            name = job.stderr.readline().strip()
            text, programs = top("--once", "--job", name), top("--once", "--json", "--job", name)
            self.end(job)
            self.assertEqual(text.returncode, 0, text.stderr)
            self.assertIn("2 processes, 0 paths", text.stdout)
            self.assertIn(f"job {name}: 2 ranks, no rails", text.stdout)
            self.assertNotIn("weight", text.stdout)
            self.assertEqual([(p["rank"], p["paths"]) for p in json.loads(programs.stdout)], [(0, []), (1, [])])

    def test_print_their_counters_when_asked(self):
        for words, channel in (([], "shared-memory packets_sent="), (["-hosts", "a,b"], "socket frames_sent=")):
            err = self.end(self.run_job(*words, HAWSER_STATS="on"))
            for rank in range(2):
                self.assertIn(f"hawser: rank {rank}: messages ", err)
                self.assertIn(f"hawser: rank {rank}: {channel}", err)
            self.assertNotIn("messages", self.end(self.run_job(*words)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
