#!/usr/bin/env python3
"""Paths and networks that fail (V07, chapter 9 and section 10.4.4).

An adapter with two ports of which one fails, with automatic path migration and without; and two networks of 880 and 100
MB/s that fail, return, and fail both at once.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from reproduce.experiment import Experiment, main  # noqa: E402
import migration  # noqa: E402
import over_time  # noqa: E402

PARTS = (over_time, migration)


class Failures(Experiment):
    name, title = "failures", "Paths and networks that fail"
    of_a_run = ("test", "setting")
    keys = (*of_a_run, "x")
    figures = ("figure",)

    def runs(self):
        return [run for part in PARTS for run in part.runs()]

    def compile(self, build, folder):
        return {name: program for part in PARTS for name, program in part.programs(build, folder, HERE).items()}

    def run(self, build, program, run):
        part = next(part for part in PARTS if run in part.runs())
        return part.run(build, program, run["test"], run["setting"])

    def values(self):
        return {name: value for part in PARTS for name, value in part.values(self.results).items()}

    def sections(self):
        return [section for part in PARTS for section in part.sections(self.results)]


if __name__ == "__main__":
    sys.exit(main(Failures(HERE)))
