"""bench/compare --gate: cells that miss their goals beyond doubt, and exit codes."""
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BENCH = HERE.parent.parent / "bench"
sys.path[:0] = [str(BENCH), str(HERE.parent / "support")]
from cases import main  # noqa: E402
import compare_gate as gate  # noqa: E402


def label(size):
    return f"{size} B"


def message(ours, theirs, lower=True, target=0.85, other=None, to_peers=True):
    return {"messages": [{"label": "a figure", "lower": lower, "target": target, "to_peers": to_peers,
                          "samples": {"hawser": ours, "mpich": theirs, "openmpi": other or theirs}}]}


class Gate(unittest.TestCase):
    def missed(self, report):
        found, self.judged = gate.judge_report(report, label)
        return [cell.label for cell in found]

    def test_interval_is_the_binomial_one(self):
        # Tables of the sign test: of 6 to 8 values all, of 9 to 11 without the outermost, of 12 without two.
        self.assertEqual([gate.ranks_of_interval(rounds) for rounds in (1, 5, 6, 8, 9, 11, 12, 20)],
                         [None, None, 0, 0, 1, 1, 2, 5])
        self.assertEqual(gate.ranks_of_interval(gate.LEAST_ROUNDS), 0)
        self.assertIsNone(gate.ranks_of_interval(gate.LEAST_ROUNDS - 1))

    def test_a_time_misses_only_beyond_doubt(self):
        self.assertEqual(self.missed(message([9] * 7, [10] * 7)), ["a figure"])
        self.assertEqual(self.missed(message([9] * 6 + [8], [10] * 7)), [])
        self.assertEqual(self.missed(message([8] * 7, [10] * 7)), [])
        self.assertEqual(self.judged, 1)

    def test_a_rate_is_better_if_greater(self):
        self.assertEqual(self.missed(message([14] * 7, [10] * 7, lower=False, target=1.5)), ["a figure"])
        self.assertEqual(self.missed(message([16] * 7, [10] * 7, lower=False, target=1.5)), [])

    def test_rounds_are_compared_each_with_its_own(self):
        """A machine that slows down for some rounds slows all libraries down."""
        self.assertEqual(self.missed(message([9, 9, 9, 90, 90, 90, 9], [10, 10, 10, 100, 100, 100, 10])), ["a figure"])

    def test_the_better_peer_counts(self):
        self.assertEqual(self.missed(message([9] * 7, [100] * 7, other=[10] * 7)), ["a figure"])
        self.assertEqual(self.missed(message([9] * 7, [10] * 7, lower=False, target=0.5, other=[100] * 7)), ["a figure"])

    def test_a_peer_that_did_not_get_through_does_not_count(self):
        self.assertEqual(self.missed(message([9] * 7, [10] * 7, other=[None] * 7)), ["a figure"])
        self.assertEqual(self.missed(message([9] * 7, [None] * 7)), [])
        self.assertEqual(self.judged, 0)

    def test_a_ratio_to_a_loop_by_hand_needs_no_peer(self):
        self.assertEqual(self.missed(message([1.2] * 7, [None] * 7, target=1.0, to_peers=False)), ["a figure"])
        self.assertEqual(self.missed(message([0.9] * 7, [0.1] * 7, target=1.0, to_peers=False)), [])

    def test_each_size_and_the_mean(self):
        def sizes(ours):
            return {"sizes": [{"benchmark": "bw", "lower": False, "bytes": [8, 1024, 2048],
                               "samples": {"hawser": [ours] * 7, "mpich": [[10, 10, 10]] * 7}}]}
        self.assertEqual(self.missed(sizes([1, 20, 9])), ["bw 2048 B"])  # mean 1.34; 8 bytes do not count
        self.assertEqual(self.missed(sizes([1, 11, 12])), ["bw, geometric mean"])
        self.assertEqual(self.judged, 3)

    def test_collectives_and_calls_count_with_the_barrier(self):
        for group in ("collectives", "calls"):
            def reduce(call, cycle):
                return {group: [{"operation": "reduce", "processes": 4, "bytes": 8, "samples": {
                    "hawser": [(call, cycle)] * 7, "mpich": [(10, 10)] * 7, "openmpi": [None] * 7}}]}
            self.assertEqual(self.missed(reduce(20, 4)), [])
            self.assertEqual(self.missed(reduce(1, 6)), [f"{group} with the barrier, geometric mean"])
            self.assertEqual(len(self.missed(reduce(1, 11))), 2)

    def test_errors_are_no_numbers_of_cells(self):
        for words, said in ((["--rounds", "5"], "at least 6 with --gate"), (["--only", "nothing"], "unknown group"),
                            (["--build", "/nonexistent", "--only", "mr"], "/nonexistent")):
            result = subprocess.run([BENCH / "compare", "--gate", *words], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 255)
            self.assertIn(said, result.stderr)

    def test_an_option_cut_short_is_an_error_that_names_it(self):
        """Else what it gives, such as 2, would pass for a number of cells."""
        result = subprocess.run([BENCH / "compare", "--build", "/nonexistent", "--gat"], capture_output=True, text=True,
                                check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("unrecognized arguments: --gat", result.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
