"""An experiment: runs, figures, and the paper's numbers beside ours."""
import argparse
import json
import os
import pathlib
import sys
import tempfile
from dataclasses import dataclass

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from report_page.page import Section, Table, html_page  # noqa: E402

from .simulated import Results, measure  # noqa: E402


@dataclass(frozen=True)
class Number:
    """A number of a paper and ours. `row` is one of features.md's, `doc/papers.md` has the idea."""

    row: str
    what: str
    ours: str
    paper: str
    source: str
    verdict: str  # "agrees", "better" or "differs"
    why: str = ""


class Experiment:
    """What a folder's run.py offers. Derive from it, and say below:

    name, title      of the folder, of its part of the page
    keys, figures    columns of the CSV: what was run, and what came out
    of_a_run         the columns that name one run, which may give several rows (one for each size, say)
    """

    name = title = ""
    keys = of_a_run = figures = ()
    data = "figures.csv"

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.results = Results(self.folder / self.data, self.keys, self.figures)

    def runs(self):
        """Dicts of the columns `of_a_run`."""
        raise NotImplementedError

    def compile(self, build, folder):
        """The program, or whatever `run` wants."""
        raise NotImplementedError

    def run(self, build, program, run):
        """Rows: dicts of the columns that `run`, a dict, does not have."""
        raise NotImplementedError

    def gigabytes(self, run):
        """Memory that a run needs, so that not too many are made at the same time."""
        return 0

    def values(self):
        """{name in expected.json: our value, a number}."""
        raise NotImplementedError

    def sections(self):
        """Of the page, with figures and what is seen in them."""
        raise NotImplementedError

    def expected(self):
        """name -> row, paper, source (texts), low, high (what ours has to lie in to agree), form (as of str.format), and, if
        ours lies outside, why, and "better": true if it is better for the user."""
        return json.loads((self.folder / "expected.json").read_text(encoding="utf-8"))

    def numbers(self):
        expected, found = self.expected(), []
        for name, value in self.values().items():
            entry = expected[name]
            agrees = entry["low"] <= value <= entry["high"]
            verdict = "agrees" if agrees else "better" if entry.get("better") else "differs"
            found.append(Number(entry["row"], name, entry.get("form", "{:+.0f} %").format(value), entry["paper"], entry["source"],
                                verdict, "" if agrees else entry.get("why", "")))
        missing = set(expected) - set(self.values())
        if missing:
            raise SystemExit(f"{self.folder}/expected.json has numbers that run.py does not compute: {', '.join(sorted(missing))}")
        return found

    def measure(self, build, jobs, only="", anew=False):
        runs = list(self.runs())
        present = {tuple(row[name] for name in self.of_a_run) for row in self.results.rows}
        wanted = [run for run in runs if only in ",".join(str(run[name]) for name in self.of_a_run) and
                  (anew or tuple(str(run[name]) for name in self.of_a_run) not in present)]
        with tempfile.TemporaryDirectory(prefix="hawser-experiment-") as folder:
            program = self.compile(build, folder)
            measure(self.results, runs, self.of_a_run, wanted, lambda run: self.run(build, program, run), jobs, self.gigabytes)
        return len(wanted)


def row_name(row):
    """A row of features.md in one piece: "MR-4" is not to be broken into two lines."""
    return row.replace("-", "\N{NON-BREAKING HYPHEN}")


def number_table(numbers):
    """The paper's numbers beside ours, as a table of the page."""
    colours = {"agrees": "good", "better": "good", "differs": "bad"}
    return Table("", ["row", "what", "paper", "ours", "", "why"],
                 [[row_name(each.row), each.what, f"{each.paper} ({each.source})", each.ours.replace(" ", "\N{NO-BREAK SPACE}"), (each.verdict, colours[each.verdict]), each.why]
                  for each in numbers])


def page_of(experiments, title, subtitle, again, first=(), last=()):
    sections = list(first)
    for each in experiments:
        numbers = each.numbers()
        agreeing = sum(number.verdict != "differs" for number in numbers)
        sections.append(Section(each.name, each.title, f"{agreeing} of {len(numbers)} numbers agree or are better.",
                                tables=[number_table(numbers)], short=each.title))
        for section in each.sections():
            section.listed = False
            sections.append(section)
    return html_page(title, subtitle, [*sections, *last], Table("", ["", ""], []), again)


def main(experiment):
    """The command line of a folder's run.py."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, help="run what has no results yet, with this build, and keep the results")
    parser.add_argument("--anew", action="store_true", help="run all")
    parser.add_argument("--only", default="", help="runs whose columns, joined by commas, contain this text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at the same time")
    parser.add_argument("--page", type=pathlib.Path, help="draw the figures as an HTML page")
    if hasattr(experiment, "quick"):
        parser.add_argument("--quick", action="store_true", help="a short run with --build that fails if it says something else")
    arguments = parser.parse_args()
    if getattr(arguments, "quick", False):
        return experiment.quick(arguments.build.resolve(), arguments.jobs)
    if arguments.build:
        count = experiment.measure(arguments.build.resolve(), arguments.jobs, arguments.only, arguments.anew)
        print(f"{count} runs")
    if arguments.page:
        again = f"<p>experiment/{experiment.name}/run.py --build DIR --anew</p>"
        arguments.page.write_text(page_of([experiment], experiment.title, "", again), encoding="utf-8")
    for each in experiment.numbers():
        print(f"{each.verdict:<8} {each.row} {each.what}: {each.ours}; paper: {each.paper} ({each.source})"
              f"{'. ' + each.why if each.why else ''}")
    return 0
