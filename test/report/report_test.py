"""bench/report: the page of recorded measurements has its curves, labels, verdicts and failures.

recorded.json is of a quick run on a busy machine, with most sizes taken out.
"""
import contextlib
import copy
import html.parser
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
REPORT = HERE.parent.parent / "bench/report"
sys.path[:0] = [str(REPORT.parent), str(HERE.parent / "support")]
from cases import main  # noqa: E402
from report_page import axes, figures, hpcc, measure, sections  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("report", str(REPORT))
COMMAND = importlib.util.module_from_spec(importlib.util.spec_from_loader("report", LOADER))
LOADER.exec_module(COMMAND)
RECORDED = json.loads((HERE / "recorded.json").read_text(encoding="utf-8"))


class Parts(html.parser.HTMLParser):
    """The text of each section."""

    def __init__(self, page):
        super().__init__()
        self.inside, self.text = None, {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "section":
            self.inside = dict(attrs)["id"]
            self.text[self.inside] = ""

    def handle_data(self, data):
        if self.inside:
            self.text[self.inside] += data


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hawser-report-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.kept = copy.deepcopy(RECORDED)

    def report(self, *words):
        return subprocess.run(
            [sys.executable, "-B", REPORT, *map(str, words)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def draw(self, code, *words):
        """The page of `self.kept`."""
        source, page = self.folder / "kept.json", self.folder / "page.html"
        source.write_text(json.dumps(self.kept), encoding="utf-8")
        command = ["bench/report", "--from", str(source), "--out", str(page), *words]
        with unittest.mock.patch.object(sys, "argv", command), contextlib.redirect_stdout(
            io.StringIO()
        ) as told:
            self.assertEqual(COMMAND.main(), code, told.getvalue())
        return page.read_text(encoding="utf-8")

    def charts(self, key):
        """{aria-label: element} of a section."""
        page = self.draw(0, "--only", key)
        found = [
            xml.etree.ElementTree.fromstring(text)
            for text in re.findall(r'<svg class="chart".*?</svg>', page, re.S)
        ]
        return {chart.get("aria-label"): chart for chart in found}

    def curves(self, chart):
        """{label: [(x, value)]}."""
        return {
            group.get("data-label"): [
                (mark.get("data-x"), mark.get("data-value")) for mark in group if mark.get("data-x")
            ]
            for group in chart.iter("g")
            if group.get("data-label")
        }


class Page(Case):
    def test_needs_nothing_else(self):
        page = self.draw(0)
        self.assertEqual(re.findall(r'(?:src|href)="(?!#)[^"]*"', page), [])
        self.assertNotIn("url(", page)
        self.assertIn("prefers-color-scheme: dark", page)
        self.assertEqual(set(Parts(page).text), {*self.kept["sections"], "machine"})

    def test_pictures_are_well_formed_and_take_their_colours_from_the_style(self):
        pictures = re.findall(r"<svg.*?</svg>", self.draw(0), re.S)
        self.assertGreater(len(pictures), 20)
        for picture in pictures:
            xml.etree.ElementTree.fromstring(picture)
            self.assertNotRegex(picture, r"\bnan\b|\binf\b|#[0-9a-f]{3}")

    def test_every_chart_has_axes_with_names(self):
        for key in self.kept["sections"]:
            for label, chart in self.charts(key).items():
                names = [text.text for text in chart.iter("text") if text.get("class") == "label"]
                with self.subTest(section=key, chart=label):
                    self.assertEqual(len(names), 2)
                    self.assertTrue(any(re.search(r"\(.+\)|MB/s|times", name or "") for name in names), names)

    def test_machine_and_how_to_run_it_again(self):
        text = Parts(self.draw(0)).text["machine"]
        for what in ("MPICH", "Open MPI", "processor", self.kept["machine"]["date"], "bench/report"):
            self.assertIn(what, text)


class Curves(Case):
    def test_messages_have_every_library_at_every_size(self):
        charts = self.charts("messages")
        for sweep, title in zip(
            self.kept["sections"]["messages"]["results"]["sizes"],
            ("Latency", "Bandwidth one way", "Bandwidth both ways", "Message rate"),
        ):
            curves = self.curves(charts[title])
            self.assertEqual(set(curves), {"Hawser", "MPICH", "Open MPI"})
            for points in curves.values():
                self.assertEqual(
                    [x for x, _ in points], [figures.size_label(size) for size in sweep["bytes"]]
                )

    def test_points_are_medians_with_their_range(self):
        sweep = self.kept["sections"]["messages"]["results"]["sizes"][0]
        sweep["samples"]["hawser"] = [[value] * len(sweep["bytes"]) for value in (5.0, 2.0, 3.0)]
        curve = self.curves(self.charts("messages")["Latency"])["Hawser"]
        self.assertEqual({value for _, value in curve}, {"3.00 us (2.00 to 5.00)"})

    def test_collectives_have_a_chart_for_each_operation_and_number_of_ranks(self):
        rows = self.kept["sections"]["collectives"]["results"]["collectives"]
        charts = self.charts("collectives")
        self.assertEqual(
            set(charts),
            {f"{row['operation']}, {row['processes']} ranks" if row["bytes"] else "barrier" for row in rows},
        )
        for chart in charts.values():
            self.assertEqual(set(self.curves(chart)), {"Hawser", "MPICH", "Open MPI"})

    def test_startup_and_overlap_have_bars_of_every_library(self):
        for key, groups in (("startup", 2), ("overlap", 3)):
            for chart in self.charts(key).values():
                bars = list(self.curves(chart).values())
                self.assertEqual([len(each) for each in bars], [groups] * 3)

    def test_computing_stands_beside_the_paper(self):
        charts = self.charts("computing")
        rows = self.kept["sections"]["computing"]["results"]["computing"]["overlap"]
        sizes = dict.fromkeys(figures.size_label(row["bytes"]) for row in rows)
        self.assertEqual(
            set(charts),
            {f"{size}, the {who} computes" for size in sizes for who in ("sender", "receiver")}
            | {"MPI_Wait in a neighbour exchange", "1 MiB beside 1500 us", "MPI_Wait in HPL"},
        )
        schemes = {"read with interrupts", "read, polling", "write, polling"}
        for title, chart in charts.items():
            papers = {f"{scheme}, S06" for scheme in schemes if title == "1 MiB, the receiver computes"}
            self.assertEqual(set(self.curves(chart)), schemes | papers)

    def test_rails_stand_beside_verbs_and_open_mpi(self):
        charts = self.charts("rails")
        for name in ("1 rail", "2 rails"):
            self.assertEqual(
                set(self.curves(charts[name])),
                {"Hawser", "ib_write_bw", "Open MPI (openib)", "Open MPI (UCX rc_v)"},
            )
        self.assertIn("Hawser, 2 rails", self.curves(charts["Bandwidth over rails"]))

    def test_each_pause_is_a_dot(self):
        pauses = self.kept["sections"]["pauses"]["results"]["pause"]["data"]["pauses"]
        chart = self.charts("pauses")["Pauses by kind of fault"]
        self.assertEqual(
            len([dot for dot in chart.iter("circle")]), sum(len(kind["whole_ms"]) for kind in pauses)
        )

    def test_failover_has_a_panel_for_each_library_with_the_time_the_cable_was_out(self):
        charts = self.charts("failover")
        self.assertLessEqual({"Hawser", "Open MPI (openib)"}, set(charts))
        for chart in charts.values():
            self.assertTrue([rect for rect in chart.iter("rect") if rect.get("class") == "span"])


class Verdicts(Case):
    def messages(self, ratio):
        row = self.kept["sections"]["messages"]["results"]["messages"][0]
        row["ratio"] = ratio
        return row

    def test_a_missed_target_is_told(self):
        row = self.messages(0.5)
        self.assertNotIn(f"Target missed: {row['label']}", Parts(self.draw(0)).text["messages"])
        row = self.messages(1.5)
        self.assertIn(f"Target missed: {row['label']}", Parts(self.draw(0)).text["messages"])

    def test_where_a_peer_is_ahead_is_told(self):
        sweep = self.kept["sections"]["messages"]["results"]["sizes"][0]
        count = len(sweep["bytes"])
        sweep["samples"] = {
            "hawser": [[2.0] + [1.0] * (count - 1)],
            "mpich": [[1.5] * count],
            "openmpi": [[1.6] * count],
        }
        self.assertIn(
            f"ahead of MPICH and Open MPI at {count - 1} of {count} sizes",
            Parts(self.draw(0)).text["messages"],
        )
        self.assertIn(
            f"behind at {figures.size_label(sweep['bytes'][0])}, most at 8 B (1.33 times)",
            Parts(self.draw(0)).text["messages"],
        )

    def test_a_peer_that_does_not_get_through_is_told(self):
        for row in self.kept["sections"]["collectives"]["results"]["collectives"]:
            if row["processes"] == 8:
                row["samples"]["mpich"] = [None]
        text = Parts(self.draw(0)).text["collectives"]
        self.assertRegex(text, r"MPICH did not get through in 30 s in \d+ of \d+ cells \(with 8 ranks\)")

    def test_a_peers_job_that_ends_badly_is_told(self):
        run = next(
            run
            for run in self.kept["sections"]["failover"]["results"]["timeline"]["data"]["timeline"]
            if run["library"] == "openib"
        )
        run.update(pause_ms=None, wrong="exit code 255; RETRY <EXCEEDED>")
        self.assertIn("exit code 255; RETRY <EXCEEDED>", Parts(self.draw(0)).text["failover"])


class Failures(Case):
    def test_a_failed_benchmark_is_shown_with_its_words(self):
        self.kept["sections"]["pauses"].update(
            failed="report.py pause: exit code 2\nthe <fabric> is gone", results={}
        )
        page = self.draw(1)
        self.assertIn("the <fabric> is gone", Parts(page).text["pauses"])
        self.assertIn("&lt;fabric&gt;", page)
        self.assertIn("Hawser", Parts(page).text["messages"])

    def test_what_was_measured_before_the_failure_is_drawn(self):
        self.kept["sections"]["messages"]["failed"] = "something"
        self.assertIn('aria-label="Latency"', self.draw(1))

    def test_what_cannot_be_drawn_is_a_failure(self):
        del self.kept["sections"]["startup"]["results"]["startup"][0]["hawser"]
        self.assertIn("cannot be drawn", Parts(self.draw(1)).text["startup"])

    def test_a_benchmark_that_does_not_run(self):
        build = self.folder / "build"
        (build / "bin").mkdir(parents=True)
        for name in measure.BUILT:
            (build / "bin" / name).write_text(
                "#!/bin/sh\necho this build is broken >&2\nexit 3\n", encoding="ascii"
            )
            (build / "bin" / name).chmod(0o755)
        page = self.folder / "page.html"
        done = self.report("--quick", "--only", "startup", "--build", build, "--out", page)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(
            Parts(page.read_text(encoding="utf-8")).text["startup"],
            r"(?s)This benchmark failed.*(this build is broken|not installed)",
        )
        self.assertTrue(
            json.loads((self.folder / "page.json").read_text(encoding="utf-8"))["sections"]["startup"][
                "failed"
            ]
        )


class Arguments(Case):
    def refused(self, words, message):
        done = self.report(*words)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stderr, message)
        self.assertNotIn("Traceback", done.stderr)

    def test_wrong_ones(self):
        wrong, text = self.folder / "wrong.json", self.folder / "text.json"
        wrong.write_text('{"format": 0}', encoding="ascii")
        text.write_text("no json", encoding="ascii")
        for words, message in (
            (["--only", "messages,nothing"], r"no section nothing; there are messages, collectives"),
            (["--only", ","], r"no section is named"),
            (["--from", wrong, "--quick"], r"neither --quick nor --build"),
            (["--from", self.folder / "none.json"], r"none.json: No such file"),
            (["--from", text], r"is not JSON"),
            (["--from", wrong], r"was not written by this bench/report"),
            (["--from", HERE / "recorded.json", "--only", "hpcc"], r"has none of the sections hpcc"),
            (["--out", "page.txt"], r"does not end with .html"),
            (["--build", self.folder], r"has no bin/mpicc.*build it"),
            (["--slowly"], r"unrecognized arguments: --slowly"),
            (["--from", HERE / "recorded.json", "--out", text / "page.html"], r"bench/report: .*"),
        ):
            with self.subTest(words=words):
                self.refused(words, message)

    def test_the_benchmarks_understand_what_they_are_told(self):
        options = types.SimpleNamespace(build=self.folder / "nothing", precedence=False)
        scratch = self.folder / "scratch"
        scratch.mkdir()
        variables = {**os.environ, "TMPDIR": str(scratch)}
        for step in {step for steps in measure.STEPS.values() for step in steps}:
            for words in filter(None, (step.words, step.quick)):
                command = measure.command_of(step, options, words, self.folder / "result.json")
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=120, check=False, env=variables
                )
                with self.subTest(command=words):
                    self.assertNotEqual(done.returncode, 0)
                    self.assertNotIn("usage:", done.stderr)
                    self.assertEqual(list(scratch.iterdir()), [])

    def test_every_section_can_be_measured_and_drawn(self):
        self.assertEqual(list(measure.STEPS), list(sections.DRAWN))


class Small(unittest.TestCase):
    def test_figures(self):
        self.assertEqual(
            [figures.short(value) for value in (0.0812, 1.333, 12, 99.96, 398.4, 1234567, 0)],
            ["0.0812", "1.33", "12.0", "100", "398", "1,230,000", "0"],
        )
        self.assertEqual(figures.spread([3, None, 1, 2]), (2, 1, 3))
        self.assertIsNone(figures.spread([None]))

    def test_axes_hold_their_values(self):
        for axis in (
            axes.log_axis("us", [0.08, 5000]),
            axes.linear_axis("MB/s", 398),
            axes.bytes_axis([1, 4 << 20]),
            axes.log_axis("us", [2, 2]),
        ):
            self.assertGreaterEqual(len(axis.ticks), 2, axis)
            self.assertTrue(all(0 <= axis.place(value) <= 1 for value, _ in axis.ticks))
            self.assertLess(axis.place(axis.low), axis.place(axis.high))

    def test_hpcc_is_read_from_the_demos_record(self):
        lines = [
            {
                "fabric": "f",
                "origin": 10.0,
                "links": [{"a": f"n0/hw{rail}", "b": f"switch{rail}:1", "rate": 1e8} for rail in (0, 1)],
            }
        ]
        lines += [
            {"seconds": second / 2, "out": [5e7, 2e7], "in": [0, 0], "dropped": [0, 0], "down": []}
            for second in range(1, 21)
        ]
        lines += [{"seconds": 4.0, "fault": "link n0/hw0 down"}, {"seconds": 6.0, "fault": "link n0/hw0 up"}]
        with tempfile.TemporaryDirectory() as folder:
            demo = pathlib.Path(folder)
            self.assertEqual(hpcc.runs(demo), [])
            (demo / "faults").mkdir()
            (demo / "faults/links.jsonl").write_text(
                "".join(json.dumps(line) + "\n" for line in lines), encoding="ascii"
            )
            (demo / "faults/run.json").write_text(
                json.dumps({"began": 11.0, "ended": 19.0, "code": 0, "sections": [["HPL", 12.0, 15.0]]}),
                encoding="ascii",
            )
            (run,) = hpcc.runs(demo)
        self.assertEqual([round(value, 3) for value in run["outages"][0][:2]], [3, 5])
        self.assertEqual(run["sections"], [("HPL", 1.0, 4.0)])
        self.assertTrue(
            all(abs(first - 100) < 1 and abs(second - 40) < 1 for first, second in run["rates"][2:-2])
        )
        drawn = sections.draw("hpcc", {"results": {"hpcc": [run]}})
        self.assertIn("link n0/hw0 down", drawn.figures[0].svg)
        self.assertEqual(drawn.failed, "")


if __name__ == "__main__":
    main(*sys.argv[1:])
