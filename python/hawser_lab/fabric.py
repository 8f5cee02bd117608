"""A virtual fabric by its name: what `hawser fabric` does with it, and what can be read of it."""
import contextlib
import os
import pathlib
import re
import subprocess
import tempfile

from .processes import PATIENCE, Failed, monotonic

SCHEDULED = 2000  # lines that one command takes


def command(hawser, *words, kept=()):
    """`hawser fabric WORDS`, whatever becomes of it; `kept` are descriptors that it has, too."""
    return subprocess.run([str(hawser), "fabric", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                          check=False, pass_fds=kept)


def daemon_of(name):
    """The number of the process that runs the fabric, by its command line."""
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = entry.read_bytes().decode(errors="replace").split("\0")
            if words[0].endswith("/hawser-fabricd") and name in words:
                return int(entry.parent.name)
    raise Failed(f"no process of fabric {name} is found")


class Fabric:
    """Up while a `with` lasts, if it is given what to bring up; one that is up already is just asked."""

    def __init__(self, hawser, name, *what):
        self.hawser = hawser
        self.name = name
        self.what = what
        self.injected = []  # (before, after) of each fault, our clock
        self.lifeline = None

    def __enter__(self):
        self.up(*self.what)
        return self

    def __exit__(self, *_):
        self.down()

    def up(self, *what):
        """Goes down with this process, however that ends: then nobody holds the other end of its lifeline."""
        end, self.lifeline = os.pipe()
        try:
            self.ask("up", *what, "--lifeline", end, kept=(end,))
        finally:
            os.close(end)

    def ask(self, verb, *words, kept=()):
        done = command(self.hawser, verb, *words, "--name", self.name, kept=kept)
        if done.returncode != 0:
            raise Failed(f"hawser fabric {verb} {' '.join(map(str, words))}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def down(self):
        """If it is up."""
        command(self.hawser, "down", "--name", self.name)
        if self.lifeline is not None:
            os.close(self.lifeline)
            self.lifeline = None

    def fault(self, text):
        """The fault's place in the fabric's log."""
        before = monotonic()
        self.ask("fault", text)
        self.injected.append((before, monotonic()))
        return len(self.injected) - 1

    def schedule(self, lines):
        """Lines `<time> <fault>`, from now on."""
        for begin in range(0, len(lines), SCHEDULED):
            with tempfile.NamedTemporaryFile("w", suffix=".faults") as file:
                file.write("\n".join(lines[begin:begin + SCHEDULED]) + "\n")
                file.flush()
                self.ask("schedule", file.name)

    def fault_times(self):
        """When each fault took effect, and how exactly that is known, in ns. The log is in the fabric's own time; each
        fault took effect while we waited for it, which tells where that time begins."""
        logged = [round(float(m) * 1e9) for m in re.findall(r"^(\d+\.\d+) (?:link|switch|adapter|qp)\b.*$",
                                                            self.ask("status"), re.M)]
        if len(logged) != len(self.injected):
            raise Failed(f"{len(self.injected)} faults, but the fabric's log has {len(logged)}")
        earliest = max(before - at for (before, _), at in zip(self.injected, logged))
        latest = min(after - at for (_, after), at in zip(self.injected, logged))
        # The log has microseconds.
        return [at + (earliest + latest) // 2 for at in logged], max(0, latest - earliest) // 2 + 1000

    def daemon(self):
        return daemon_of(self.name)

    def lag(self):
        found = re.search(r"^lag behind real time: (.*)", self.ask("status"), re.M)
        return found.group(1) if found else ""

    def listening(self):
        """Whether its socket is still there."""
        with open("/proc/net/unix", encoding="ascii", errors="replace") as sockets:
            return f"hawser/{os.getuid()}/{self.name}\n" in sockets.read()

    def on_host(self, host, *program):
        """The words that run a program on one of its hosts."""
        return [str(self.hawser), "fabric", "run", "--name", self.name, "--host", host, "--", *map(str, program)]

    def recording(self, file, interval):
        """The words that write every link's bytes and the faults to a file, until they are told to end."""
        return [str(self.hawser), "fabric", "watch", "--name", self.name, "--interval", interval, "--record", str(file)]
