"""A virtual fabric for the time of a run, whole or with links that flap."""
import os
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "python"))
from hawser_lab import fabric  # noqa: E402

HOURS = 3  # for which links flap; a run takes less


class Fabric(fabric.Fabric):
    """Two switches, one a rail."""

    def __init__(self, hawser, hosts, rails, period=0.0, seed=1):
        super().__init__(hawser, f"mpich-suite-{os.getpid()}", "two-switch", "--hosts", hosts, "--rails", rails)
        self.hosts, self.rails = hosts, rails
        self.period, self.seed = period, seed

    def __enter__(self):
        super().__enter__()
        try:
            if self.period:
                self.schedule(self.faults())
        except BaseException:
            self.down()
            raise
        return self

    def faults(self):
        """In every period one link, drawn at random, is down for a part of it; so a host always has another."""
        draw = random.Random(self.seed)
        lines = []
        for number in range(1, int(HOURS * 3600 / self.period)):
            link = f"n{draw.randrange(self.hosts)}/hw{draw.randrange(self.rails)}"
            begin = number * self.period
            lines.append(f"{begin:.3f} link {link} down")
            lines.append(f"{begin + self.period * draw.uniform(0.1, 0.7):.3f} link {link} up")
        return lines
