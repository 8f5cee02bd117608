"""Settings that make no sense end a job when it starts, with what was written and what may be written, whether or not
the job would use them. settings_test.py BUILD"""

import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from cases import main  # noqa: E402

BUILD = Path(sys.argv[1]).resolve()
WRONG = {
    "HAWSER_RAIL_POLICY=robin": "must be one of auto, binding, round_robin,",
    "HAWSER_RAIL_MIGRATION=sometimes": "must be auto, off, or a list of ports and path bits",
    "HAWSER_RAIL_ETHERNET=nowhere0": "the interface 'nowhere0' does not exist here; must be all, or some of",
    "HAWSER_COLLECTIVE_ALGORITHM=allreduce=rong": "'allreduce=rong' must be allreduce= one of",
    "HAWSER_SOCKET_ADDRESS=node7": "must be an IPv4 address",
    "HAWSER_NETWORK=rail": "must be one of auto, rails, socket",
    "HAWSER_RAIL_WATCHDOG=500": "'500' is not a duration: its unit is missing at character 4; write a number with its unit such as 1.5ms",
}


def run(entry, *words):
    name, _, value = entry.partition("=")
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120,
                          env={**os.environ, name: value})


class Settings(unittest.TestCase):
    def test_wrong_ones_end_the_job_at_its_start(self):
        for abi in ("standard", "mpich"):
            program = BUILD / "test" / f"argument_errors_{abi}"
            for entry, reason in WRONG.items():
                for words in ([BUILD / "bin/mpiexec", "-n", 2, program], [program]):
                    with self.subTest(abi=abi, entry=entry, words=len(words)):
                        result = run(entry, *words)
                        self.assertIn(result.returncode, range(1, 128), result.stderr)  # not by a signal
                        self.assertIn(f"{entry}: ", result.stderr)
                        self.assertIn(reason, result.stderr)

    def test_the_list_of_settings_refuses_them_too(self):
        for entry in ("HAWSER_RAIL_POLICY=robin", "HAWSER_RAIL_WATCHDOG=500"):
            result = run(entry, BUILD / "bin/hawser", "info", "--knobs")
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"{entry}: ", result.stderr)


if __name__ == "__main__":
    main(*sys.argv[2:])
