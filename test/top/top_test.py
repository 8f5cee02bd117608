"""`hawser top` finds processes of this user by their open files and shows their paths, once or again and again."""

import json
import os
import signal
import subprocess
import sys
import unittest

HAWSER, SAMPLE = sys.argv[1], sys.argv[2]


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
        self.assertIn("1 processes, 2 paths, 1 not ready", found.stdout)
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
            heads += "processes" in line
            if heads == 3:
                break
        live.send_signal(signal.SIGINT)
        live.communicate(timeout=60)
        self.assertEqual(live.returncode, 0)
        self.assertEqual(heads, 3)

    def test_refuses_what_makes_no_sense(self):
        self.assertEqual(top("--interval", "0").returncode, 2)
        self.assertEqual(top("--nonsense").returncode, 2)
        none = top("--once", "--job", "no such job")
        self.assertEqual(none.returncode, 1)
        self.assertIn("no process", none.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
