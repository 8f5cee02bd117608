"""The parts of the HPCC demonstration that judge and draw (bench/hpcc): a wrong or cut-off result never passes.

passed.txt is what HPCC wrote in a run whose checks were all passed (4 ranks, N = 4000).
"""
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "bench/hpcc"), str(HERE.parent / "support")]
import bandwidth  # noqa: E402
import campaign  # noqa: E402
import demo  # noqa: E402
import outcome  # noqa: E402
import paths  # noqa: E402
import runner  # noqa: E402
from cases import main  # noqa: E402
from hawser_lab import open_mpi  # noqa: E402

PASSED = (HERE / "passed.txt").read_text(encoding="utf-8")


def failed(text):
    return [verdict.test for verdict in outcome.judge(text) if not verdict.passed]


def in_section(name, pattern, replacement):
    """The text with one thing changed in one section."""
    begin = PASSED.index(f"Begin of {name} section.")
    end = PASSED.index(f"End of {name} section.")
    changed, count = re.subn(pattern, replacement, PASSED[begin:end], count=1, flags=re.M)
    assert count == 1, (name, pattern)
    return PASSED[:begin] + changed + PASSED[end:]


class Outcome(unittest.TestCase):
    def test_all_passed(self):
        verdicts = outcome.judge(PASSED)
        self.assertEqual(failed(PASSED), [])
        self.assertEqual([verdict.test for verdict in verdicts], [*outcome.SECTIONS, "HPCC as a whole"])

    def test_each_check_is_looked_at(self):
        for section, pattern, replacement in (
                ("MPIRandomAccess", r"^Found 0 errors", "Found 1 errors"),
                ("StarRandomAccess", r"^Found 0 errors", "Found 3 errors"),
                ("StarRandomAccess", r"^Node\(s\) with error 0", "Node(s) with error 1"),
                ("SingleRandomAccess", r"^Node\(s\) with error 0", "Node(s) with error 1"),
                ("MPIRandomAccess_LCG", r"^Found 0 errors", "Found 12 errors"),
                ("StarRandomAccess_LCG", r"^Node\(s\) with error 0", "Node(s) with error 4"),
                ("SingleRandomAccess_LCG", r"^Node\(s\) with error 0", "Node(s) with error 1"),
                ("PTRANS", r"^(WALL .*)PASSED( +\S+ +)\S+", r"\1FAILED\g<2>99.0"),
                ("PTRANS", r"0 tests completed and failed", "1 tests completed and failed"),
                ("PTRANS", r"5 tests completed and passed", "4 tests completed and passed"),
                ("PTRANS", r"^(WALL .* )0.00$", r"\1nan"),
                ("StarDGEMM", r"^Scaled residual: .*", "Scaled residual: 17.5"),
                ("SingleDGEMM", r"^Node\(s\) with error 0", "Node(s) with error 1"),
                ("StarSTREAM", r"^Solution Validates", "Failed Validation"),
                ("SingleSTREAM", r"^Node\(s\) with error 0", "Node(s) with error 1"),
                ("MPIFFT", r"^max\(\|x-x0\|\): .*", "max(|x-x0|): 1.0e-3"),
                ("MPIFFT", r"^max\(\|x-x0\|\): .*", "max(|x-x0|): nan"),
                ("StarFFT", r"^max\(\|x-x0\|\): .*", "max(|x-x0|): inf"),
                ("SingleFFT", r"^Node\(s\) with error 0", "Node(s) with error 1"),
                ("LatencyBandwidth", r"^Message Size: +8 Byte", "[0]: ERROR: expected 14 and 15 as first and last byte"),
                ("HPL", r"\.\.\. PASSED$", "... FAILED"),
                ("HPL", r"(\)\*N\)= *)\S+", r"\g<1>nan"),
                ("HPL", r"0 tests completed and failed", "1 tests completed and failed")):
            with self.subTest(section=section, pattern=pattern):
                self.assertEqual(failed(in_section(section, pattern, replacement)), [section])
        self.assertEqual(failed(PASSED.replace("\nSuccess=1", "\nSuccess=0")), ["HPCC as a whole"])

    def test_a_missing_check_is_a_failure(self):
        for section in outcome.SECTIONS:
            without = re.sub(rf"^Begin of {section} section\.$.*?^End of {section} section\.$", "", PASSED, flags=re.M | re.S)
            self.assertEqual(failed(without), [section])
            emptied = re.sub(rf"(^Begin of {section} section\.$).*?(^End of {section} section\.$)", r"\1\n\2", PASSED,
                             flags=re.M | re.S)
            self.assertEqual(failed(emptied), [section])

    def test_cut_off_anywhere(self):
        for section in outcome.SECTIONS:
            cut = PASSED[:PASSED.index(f"End of {section} section.")]
            self.assertEqual(failed(cut), [*outcome.SECTIONS[outcome.SECTIONS.index(section):], "HPCC as a whole"])
        self.assertEqual(len(failed("")), len(outcome.SECTIONS) + 1)

    def test_the_command_says_which(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(in_section("PTRANS", "PASSED", "FAILED"))
            file.flush()
            done = subprocess.run([sys.executable, "-B", outcome.__file__, file.name], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "failed: PTRANS\n")
        self.assertRegex(done.stdout, r"(?m)^  PTRANS +FAILED ")

    def test_how_far_it_got(self):
        begun, over = outcome.sections_seen(PASSED[:PASSED.index("End of PTRANS section.")])
        self.assertEqual((begun[-1], over[-1]), ("PTRANS", "SingleRandomAccess_LCG"))


def write_record(folder):
    """Two hosts with two rails for 4 s; rail 1 is silent in the third, and a cable is out."""
    links = [{"a": f"n{host}/hw{rail}", "b": f"switch{rail}:{host + 1}", "rate": 1e8} for host in range(2) for rail in range(2)]
    lines = [{"fabric": "f", "origin": 100.0, "links": links}]
    for second in range(1, 5):
        if second == 3:
            lines += [{"seconds": 2.0, "fault": "link n0/hw1 down"}, {"seconds": 3.0, "fault": "link n0/hw1 up"},
                      {"seconds": 3.0, "fault": "tables reroute"}]
        rail1 = 0 if second == 3 else 50_000_000
        lines.append({"seconds": float(second), "out": [80_000_000, rail1, 20_000_000, rail1], "in": [0] * 4, "dropped": [0] * 4,
                      "down": [1] if second == 3 else []})
    path = pathlib.Path(folder) / "links.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"seconds": 5.0, "out', encoding="utf-8")
    return bandwidth.read_record(path)


class Bandwidth(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            self.record = write_record(folder)

    def test_bytes_become_rates_of_rails(self):
        self.assertEqual((self.record.origin, self.record.capacity), (100.0, 4e8))
        for width in (1.0, 0.25):
            bins = self.record.bins(0.0, 4.0, width)
            self.assertEqual(len(bins), 4 / width)
            for i, (rail0, rail1) in enumerate(bins):
                self.assertAlmostEqual(rail0, 1e8)
                self.assertAlmostEqual(rail1, 0 if 2 <= i * width < 3 else 1e8)
        wide = self.record.bins(0.5, 4.0, 3.5)
        self.assertAlmostEqual(wide[0][0], 1e8)
        self.assertAlmostEqual(wide[0][1], 2.5e8 / 3.5)

    def test_terminal(self):
        panel = bandwidth.Panel("", self.record, 0.0, 4.0, [("PTRANS", 2.5, 3.0), ("StarFFT", 2.6, 3.0)])
        lines = list(bandwidth.terminal(panel, rows=4, columns=40))
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[0], r"^ +0\.0 s +200 MB/s #{10}={10}$")
        self.assertRegex(lines[2], r"^ +2\.0 s +100 MB/s #{10} +link n0/hw1 down, PTRANS$")

    def test_picture(self):
        self.assertEqual(bandwidth.outages(self.record.faults, 4.0), [(2.0, 3.0, "link n0/hw1 down")])
        panel = bandwidth.Panel("a < b & c", self.record, 0.0, 4.0, [("PTRANS", 0.5, 1.0), ("MPIFFT", 0.6, 2.0)])
        text = bandwidth.picture([panel, panel], "title")
        tree = xml.etree.ElementTree.fromstring(text)
        shown = [element.text for element in tree.iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual(shown.count("a < b & c"), 2)
        self.assertEqual(shown.count("link n0/hw1 down"), 2)
        self.assertIn("PTRANS", shown)
        for path in tree.iter("{http://www.w3.org/2000/svg}path"):
            self.assertNotIn("nan", path.get("d"))


class Paths(unittest.TestCase):
    LOG0 = """0.000000000 rank=0 peer=1 subchannel=0 port=hw0/1 path=0 generation=1 event=condition_changed condition=connecting
5.000000000 rank=0 peer=1 subchannel=0 port=hw0/1 path=0 generation=1 event=condition_changed condition=ready reason=first_connection
6.000000000 rank=0 event=port_changed rail=0 port=down
6.000000000 rank=0 peer=1 subchannel=0 port=hw0/1 path=0 generation=1 event=condition_changed condition=stopping reason=port_down
6.100000000 rank=0 peer=1 event=partitioned
6.200000000 rank=0 event=reissued bytes=4096
7.000000000 rank=0 peer=1 subchannel=0 port=hw0/1 path=0 generation=2 event=condition_changed condition=ready reason=recovery
7.000000000 rank=0 peer=1 event=rejoined after_us=900000
8.000000000 rank=0 peer=1 subchannel=0 port=hw0/1 path=0 generation=2 event=condition_changed condition=closed reason=torn_down
9.00000"""
    LOG1 = """5.100000000 rank=1 peer=0 subchannel=0 port=hw0/1 path=0 generation=1 event=condition_changed condition=ready reason=first_connection
6.001000000 rank=1 peer=0 subchannel=0 port=hw0/1 path=0 generation=1 event=condition_changed condition=stopping reason=peer_asked
7.250000000 rank=1 peer=0 subchannel=0 port=hw0/1 path=0 generation=2 event=condition_changed condition=ready reason=recovery
"""

    def test_outages_of_both_ends_are_one(self):
        with tempfile.TemporaryDirectory() as folder:
            for rank, text in enumerate((self.LOG0, self.LOG1)):
                (pathlib.Path(folder) / f"events.{rank}").write_text(text, encoding="ascii")
            events = paths.read_events(sorted(pathlib.Path(folder).iterdir()))
        self.assertEqual(len(events), 12)
        told = list(paths.lines(paths.tell(events), 4_000_000_000))
        self.assertEqual(told, ["ranks 0 and 1, path 0: out 2.000 to 3.250 (port down)",
                                "rank 0 had no path to rank 1 from 2.100 to 3.000",
                                "1 outages of 1 paths, 1 over; 4096 bytes sent once more"])


class Plans(unittest.TestCase):
    def test_input_is_hpcc_s(self):
        lines = runner.hpccinf(4000, 4).split("\n")
        self.assertEqual((lines[5].split()[0], lines[10].split()[0], lines[11].split()[0]), ("4000", "2", "2"))
        self.assertEqual(len(lines), 37)  # 36 and what follows the last end of line

    def test_the_demo_brings_back_what_it_takes(self):
        self.assertLessEqual({step.section for step in demo.PLAN}, set(outcome.SECTIONS))
        faults = [(float(i), step.fault) for i, step in enumerate(demo.PLAN)]
        self.assertTrue(all(end < 1e9 for _, end, _ in bandwidth.outages(faults, 1e9)))
        self.assertEqual(len(bandwidth.outages(faults, 1e9)), 4)

    def test_schedules_are_the_seeds_and_end_well(self):
        for seed in range(50):
            text = campaign.schedule(seed, 60)
            self.assertEqual(text, campaign.schedule(seed, 60))
            entries = [(float(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in text.splitlines() if line[0] != "#"]
            self.assertGreater(len(entries), 10)
            self.assertEqual(entries, sorted(entries, key=lambda entry: entry[0]))
            self.assertTrue(all(end < 1e9 for _, end, _ in bandwidth.outages(entries, 1e9)), text)
        self.assertNotEqual(campaign.schedule(1, 60), campaign.schedule(2, 60))

    def test_errors_of_open_mpi_are_told_once(self):
        output = "fine\n[[1,1],0] error polling LP CQ RETRY EXCEEDED\n[[1,1],0] error polling LP CQ RETRY EXCEEDED\n 0 libucs.so.0(ucs_handle_error+0x2dc)\n"
        self.assertEqual(open_mpi.errors(output), ["[[1,1],0] error polling LP CQ RETRY EXCEEDED"])

    def test_verdicts_are_shown(self):
        shown = io.StringIO()
        outcome.show([outcome.Verdict("HPL", True, "fine"), outcome.Verdict("PTRANS", False, "did not run")], shown)
        self.assertEqual(shown.getvalue(), "  HPL                      PASSED   fine\n  PTRANS                   FAILED   did not run\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
