"""What the tests of the emulator share: a fabric per case, and programs on its hosts.

The first argument of a test program is the `hawser` command; the others are unittest's.
"""
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import unittest

HAWSER = sys.argv[1]
PATIENCE = 120  # seconds; only a hang takes so long


def have(*programs):
    missing = [p for p in programs if shutil.which(p) is None]
    return unittest.skipIf(missing, f"not installed: {' '.join(missing)}")


def fabric(*words, check=True):
    done = subprocess.run([HAWSER, "fabric", *words], capture_output=True, text=True, timeout=PATIENCE)
    if check and done.returncode != 0:
        raise AssertionError(f"hawser fabric {' '.join(words)}: {done.returncode}\n{done.stderr}")
    return done


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def listens(port):
    wanted = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError), open(table, encoding="ascii") as lines:
            for line in lines:
                fields = line.split()
                if len(fields) > 3 and fields[1].endswith(wanted) and fields[3] == "0A":
                    return True
    return False


class OnFabric(unittest.TestCase):
    """A fabric per case."""
    WHAT = ("back-to-back",)

    def setUp(self):
        self.name = f"test-{os.getpid()}-{self.id().split('.')[-1]}"[:50]
        self.started = []
        fabric("up", *self.WHAT, "--name", self.name)

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        fabric("down", "--name", self.name, check=False)
        with open("/proc/net/unix", encoding="ascii", errors="replace") as sockets:
            self.assertNotIn(f"hawser/{os.getuid()}/{self.name}\n", sockets.read())

    def start(self, host, *command, **how):
        how.setdefault("stdout", subprocess.PIPE)
        process = subprocess.Popen([HAWSER, "fabric", "run", "--name", self.name, "--host", host, "--", *command],
                                   stderr=subprocess.STDOUT, text=True, **how)
        self.started.append(process)
        return process

    def finish(self, process):
        output, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, output)
        return output

    def run_on(self, host, *command):
        return self.finish(self.start(host, *command))

    def serve(self, *command):
        """Starts a program on n0 that listens on a port, and waits until it does."""
        port = free_port()
        server = self.start("n0", *command, "-p", str(port))
        end = time.monotonic() + PATIENCE
        while not listens(port):
            self.assertIsNone(server.poll(), f"{command} ended early")
            self.assertLess(time.monotonic(), end, f"{command} does not listen")
            time.sleep(0.01)
        return server, port

    def pair(self, *command):
        server, port = self.serve(*command)
        client = self.start("n1", *command, "-p", str(port), "localhost")
        output = self.finish(client)
        self.finish(server)
        return output
