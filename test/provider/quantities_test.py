"""One grammar of quantities: whatever text one user takes, all take, and what none takes, all refuse with its name.

quantities_test.py HAWSER [unittest arguments]"""
import os
import subprocess
import sys
import tempfile

from fabric_case import HAWSER, PATIENCE, OnFabric, fabric
from cases import main

# Not less than 10 ms, the least that `hawser top --interval` takes, and a second at least for mpiexec.
DURATIONS = ("1s", "1.5s", "2S", "1500ms", "1500.5MS", "2e3ms", "2000000us", "3000000000ns", ".5e1s")
WITHOUT_UNIT = ("2", "1.5")  # seconds, where the option is known to be in seconds
NO_DURATIONS = {"5h": "'h' at character 2", "soon": "no number at character 1", "-5ms": "no number at character 1",
                "1 s": "' s' at character 2", "5.ms2": "'ms2' at character 3", "1K": "'K' at character 2"}
SIZES = ("2097152", "2097152B", "2048K", "2048KB", "2048KiB", "2m", "2MB", "2MiB", "1.5M", "0.5G", "4e6", "2mib")
NO_SIZES = {"2T": "'T' at character 2", "M": "no number at character 1", "-2M": "no number at character 1",
            "2 M": "' M' at character 2", "2Mb/s": "'Mb/s' at character 2", "nan": "no number at character 1"}
RATES = ("200MB/s", "1.5GB/s", "10Gb/s", "1e8B/s", "100MiB/s", "800000Kb/s")
NO_RATES = {"200": "its unit is missing at character 4", "200MB": "'MB' at character 4", "1mb/s": "'mb/s' at character 2",
            "fast": "no number at character 1"}


def run(*words, **variables):
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **variables})
    return done.returncode, done.stderr


def knob(name):
    return lambda text: run(HAWSER, "info", "--knobs", **{name: text})


def option(name):
    return lambda text: run(HAWSER, "fabric", "topology", "back-to-back", f"{name}={text}")


def parameter(name):
    """A line of a file of parameters."""
    def give(text):
        with tempfile.NamedTemporaryFile("w", suffix=".parameters") as file:
            file.write(f"{name} {text}\n")
            file.flush()
            return run(HAWSER, "fabric", "topology", "back-to-back", "--parameters", file.name)
    return give


def timeout(text):
    return run(os.path.join(os.path.dirname(HAWSER), "mpiexec"), f"--timeout={text}", "--version")


def interval(text):
    """Of `hawser top`: 1 says that there is no such process."""
    code, said = run(HAWSER, "top", "--once", "--pid", "4194303", f"--interval={text}")
    return 0 if code == 1 else code, said


class Quantities(OnFabric):
    """A table of texts by users."""

    def fault(self, text):
        done = fabric("fault", f"link n0/hw0 delay {text}", "--name", self.name, check=False)
        return done.returncode, done.stderr

    def rate_fault(self, text):
        done = fabric("fault", f"link n0/hw0 rate {text}", "--name", self.name, check=False)
        return done.returncode, done.stderr

    def scheduled(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".faults") as file:
            file.write(f"{text} link n0/hw0 clear\n")
            file.flush()
            done = fabric("schedule", file.name, "--name", self.name, check=False)
        return done.returncode, done.stderr

    def takes(self, users, texts):
        for user, give in users.items():
            for text in texts:
                with self.subTest(user=user, text=text):
                    self.assertEqual(give(text)[0], 0, give(text)[1])

    def refuses(self, users, texts):
        for user, give in users.items():
            for text, why in texts.items():
                if user not in ("knob", "mpiexec", "top") and " " in text:
                    continue  # they take it for two words
                with self.subTest(user=user, text=text):
                    code, said = give(text)
                    self.assertNotEqual(code, 0)
                    self.assertIn(f"'{text}' is not a ", said)
                    self.assertIn(why, said)

    def test_durations(self):
        with_unit = {"knob": knob("HAWSER_RAIL_GIVE_UP"), "option": option("--latency"),
                     "parameter": parameter("reroute-delay"), "fault": self.fault}
        in_seconds = {"mpiexec": timeout, "top": interval, "schedule": self.scheduled}
        self.takes({**with_unit, **in_seconds}, DURATIONS)
        self.takes(in_seconds, WITHOUT_UNIT)
        self.refuses(with_unit, {text: f"its unit is missing at character {len(text) + 1}" for text in WITHOUT_UNIT})
        self.refuses({**with_unit, **in_seconds}, NO_DURATIONS)

    def test_bytes(self):
        users = {"knob": knob("HAWSER_SHM_TOTAL"), "parameter": parameter("buffer")}
        self.takes(users, SIZES)
        self.refuses(users, NO_SIZES)

    def test_rates(self):
        users = {"option": option("--rate"), "parameter": parameter("bus-rate"), "rate fault": self.rate_fault}
        self.takes(users, RATES)
        self.refuses(users, NO_RATES)


if __name__ == "__main__":
    main(*sys.argv[2:])
