"""A virtual fabric for the time of a run, whole or with links that flap."""
import os
import random
import subprocess
import tempfile

HOURS = 3     # for which links flap; a run takes less
LINES = 2000  # that one command takes


class Fabric:
    """Brings up `hawser fabric up two-switch` and takes it down at the end."""

    def __init__(self, hawser, hosts, rails, period=0.0, seed=1):
        self.hawser, self.hosts, self.rails = hawser, hosts, rails
        self.period, self.seed = period, seed
        self.name = f"mpich-suite-{os.getpid()}"

    def __enter__(self):
        subprocess.run([self.hawser, "fabric", "up", "two-switch", "--hosts", str(self.hosts), "--rails",
                        str(self.rails), "--name", self.name], check=True, stdout=subprocess.DEVNULL)
        try:
            lines = self.faults() if self.period else []
            for begin in range(0, len(lines), LINES):
                self.schedule(lines[begin:begin + LINES])
        except BaseException:
            self.__exit__()
            raise
        return self

    def schedule(self, lines):
        with tempfile.NamedTemporaryFile("w", suffix=".faults") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            subprocess.run([self.hawser, "fabric", "schedule", file.name, "--name", self.name], check=True,
                           stdout=subprocess.DEVNULL)

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

    def __exit__(self, *_):
        subprocess.run([self.hawser, "fabric", "down", "--name", self.name], check=False, stdout=subprocess.DEVNULL)
