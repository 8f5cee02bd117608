#!/usr/bin/env python3
"""Who selects nothing is told so: a misspelt name of a case, section, peer or program ends with an error that says what
there is, and not with "0 failed".  Usage: selection_test.py ROOT BUILD"""
import pathlib
import subprocess
import sys
import unittest

from cases import main

ROOT, BUILD = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
CONFORMANCE = BUILD / "test/conformance"
# Where the last word of the command is wrong: the exit code, and a word of what there is instead.
WRONG = [
    ([CONFORMANCE / "conformance", "--filter", "pt2pt_bsic"], 2, "pt2pt_basic"),
    ([CONFORMANCE / "conformance", "--filter", "pt2pt_basic,-nonesuch"], 2, "'nonesuch'"),
    ([CONFORMANCE / "conformance", "--filter", "pt2pt_basic,-pt2pt"], 2, "leaves out every case"),
    ([CONFORMANCE / "conformance_simulated", "--ranks", "2", "--filter", "pt2pt_bsic"], 2, "pt2pt_basic"),
    ([CONFORMANCE / "conformance_sessions", "alon"], 1, "alone"),
    ([BUILD / "test/base_test", "--gtest_filter=EventQuue.*"], 2, "EventQueue"),
    ([BUILD / "bin/hawser-sim", "campaign", "--seeds", "1..0"], 2, "is not a range of seeds"),
    ([BUILD / "test/bad_calls_standard", "null"], 2, "nulls|counts"),
    ([BUILD / "test/bootstrap_probe", "abrt"], 1, "abort"),
    ([ROOT / "scripts/test-launchers", "--probe", "-b", BUILD, "hidra"], 2, "hydra"),
    ([ROOT / "bench/compare", "--only", "latncy"], 2, "latency"),
    ([ROOT / "bench/compare", "--peers", "mpih"], 2, "mpich"),
    ([ROOT / "bench/compare", "--operations", "bcst"], 2, "bcast"),
    ([ROOT / "bench/compare", "--rounds", "0"], 2, "at least 1"),
    ([ROOT / "bench/report", "--only", "mesages"], 2, "messages"),
    ([ROOT / "bench/startup", "-r", "0"], 2, "numbers from 1"),
    ([ROOT / "bench/rails/report.py", "pause", "--kinds", "lokal"], 2, "local"),
    ([ROOT / "bench/rails/report.py", "pause", "--faults", "0"], 2, "is not a number from 1"),
    ([ROOT / "bench/hpcc/campaign.py", "--runs", "0"], 2, "at least 1"),
    ([ROOT / "test/provider/perftest_matrix.py", BUILD / "bin/hawser", "--only", "ib_sned"], 2, "--list"),
    ([ROOT / "test/conformance/check-with-peer", "mpih"], 2, "mpich"),
]


class Selection(unittest.TestCase):
    def test_a_wrong_name_is_an_error_that_says_what_there_is(self):
        for command, code, says in WRONG:
            command = [str(word) for word in command]
            with self.subTest(" ".join(command)):
                python = [sys.executable, "-B"] if pathlib.Path(command[0]).suffix == ".py" else []
                done = subprocess.run([*python, *command], capture_output=True, text=True, timeout=120, check=False)
                self.assertEqual(done.returncode, code, done)
                self.assertIn(says, done.stderr)

    def test_what_is_not_for_so_many_ranks_is_shown_as_skipped(self):
        for command in ([BUILD / "bin/mpiexec", "-n", "1", CONFORMANCE / "conformance"],
                        [CONFORMANCE / "conformance_simulated", "--ranks", "1"]):
            done = subprocess.run([*command, "--filter", "more_than_two_gigabytes"], capture_output=True, text=True, timeout=120,
                                  check=False)
            self.assertEqual(done.returncode, 77, done)
            self.assertIn("none of the selected cases is for", done.stdout + done.stderr)


if __name__ == "__main__":
    main(*sys.argv[3:])
