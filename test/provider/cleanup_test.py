#!/usr/bin/env python3
"""How fabrics refuse bad input, end, and keep users apart.  Usage: VERBS_SHELL=... cleanup_test.py HAWSER [...]"""
import contextlib
import glob
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from fabric_case import HAWSER, PATIENCE, ROOT, Fabric, OnFabric, Shell, connect, daemon_of, fabric, main


def wait_for(what, text):
    end = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > end:
            raise AssertionError(text)
        time.sleep(0.01)


class Lifeline(unittest.TestCase):
    def test_a_test_that_is_killed_takes_its_fabric_with_it(self):
        name = f"orphan-{os.getpid()}"
        program = (f"import sys; sys.path.append({os.path.join(ROOT, 'python')!r})\n"
                   "from hawser_lab import Fabric\n"
                   f"fabric = Fabric({HAWSER!r}, {name!r})\nfabric.up('back-to-back')\nprint('up', flush=True)\n"
                   "sys.stdin.read()\n")
        with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            self.assertEqual(process.stdout.readline(), "up\n")
            self.assertTrue(Fabric(HAWSER, name).listening())
            process.kill()
        wait_for(lambda: not Fabric(HAWSER, name).listening(), "the fabric stays up without who brought it up")


class BadInput(unittest.TestCase):
    GOOD = ('Switch\t24 "S-1"\t# "switch0"\n[1]\t"H-0"[1]\n[2]\t"H-1"[1]\n'
            'Ca\t1 "H-0"\t# "n0 hw0"\n[1]\t"S-1"[1]\nCa\t1 "H-1"\t# "n1 hw0"\n[1]\t"S-1"[2]\n')

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.name = f"bad-{os.getpid()}"

    def file(self, text):
        path = os.path.join(self.folder.name, "input")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def refuse(self, *texts, words):
        done = fabric(*words, "--name", self.name, check=False)
        try:
            self.assertIn(done.returncode, (1, 2), done.stdout + done.stderr)
            for text in texts:
                self.assertIn(text, done.stderr)
            self.assertLessEqual(done.stderr.count("\n"), done.returncode, done.stderr)  # usage has a hint
        finally:
            if done.returncode == 0:
                fabric("down", "--name", self.name)

    def test_topology_lines_are_named(self):
        fabric("up", self.file(self.GOOD), "--name", self.name)
        self.assertIn("2 hosts, 2 adapters, 1 switches", fabric("status", "--name", self.name).stdout)
        fabric("down", "--name", self.name)
        lines = self.GOOD.splitlines()
        for number, line in ((1, "Swtch\t24 \"S-1\""), (1, "Switch\tmany \"S-1\""), (2, "[1]\t\"H-0[1]"),
                             (2, "[99]\t\"H-0\"[1]"), (3, "[1]\t\"H-1\"[1]"), (7, "[1]\t\"S-1\"[1]"), (4, "Ca\t1 \"S-1\"")):
            with self.subTest(line):
                broken = lines[:number - 1] + [line] + lines[number:]
                path = self.file("\n".join(broken) + "\n")
                self.refuse(f"{path}:{number}: ", words=("up", path))
        for text in ("", "# nothing\n", "\0\0\0\n", "x" * 100000):
            with self.subTest(text[:10]):
                self.refuse("input", words=("up", self.file(text)))

    def test_parameter_lines_are_named(self):
        for text, why in (("link-rate 1MB/s\nlink-rate fast\n", ":2: "), ("\nspeed 3\n", ":2: "), ("lmc 9\n", ":1: "),
                          ("mtu 1000\n", ":1: "), ("host n0 nowhere\n", ":1: "), ("link n9/hw0 rate 1MB/s\n", ":1: ")):
            with self.subTest(text):
                path = self.file(text)
                self.refuse(path + why, words=("up", "back-to-back", "--parameters", path))

    def test_options(self):
        for words, why in ((("--hosts", "5"), "5"), (("--rails", "99"), "99"), (("--ports", "0"), "0"),
                           (("--latency", "soon"), "soon"), (("--rate", "-3MB/s"), "--rate"),
                           (("--routing", "magic"), "magic"), (("--parameters", "/nowhere"), "/nowhere")):
            with self.subTest(words):
                self.refuse(why, words=("up", "back-to-back", *words))

    def test_names(self):
        for name in ("", "x" * 200):
            done = fabric("up", "back-to-back", "--name", name, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("not a valid name", done.stderr)


class BadCommands(OnFabric):
    def refuse(self, text, *words):
        done = fabric(*words, "--name", self.name, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(text, done.stderr)

    def test_schedules(self):
        for text, why in (("1 link n0/hw0 down\nsoon link n0/hw0 up\n", ":2: 'soon'"), ("\n\n2 link n9/hw0 down\n", ":3: "),
                          ("-1 link n0/hw0 down\n", ":1: '-1'"), ("1\n", ":1: the fault is empty")):
            with self.subTest(text), tempfile.NamedTemporaryFile("w") as file:
                file.write(text)
                file.flush()
                self.refuse(why, "schedule", file.name)
        # Nothing of a schedule with an error happens.
        self.assertIn("faults so far: 0; still to come: 0", fabric("status", "--name", self.name).stdout)
        self.refuse("cannot read", "schedule", "/nowhere")

    def test_a_second_daemon(self):
        self.refuse("already", "up", "single-switch")
        self.assertEqual(fabric("status", "--name", self.name).stdout.count("2 hosts"), 1)

    def test_devices_of_a_host_that_is_not_there(self):
        """A program that is told of a host that the fabric does not have finds no device, and why."""
        shell = self.start("n0", "env", "HAWSER_FABRIC_HOST=n9", os.environ["VERBS_SHELL"], stdin=subprocess.PIPE)
        output, _ = shell.communicate('{"do": "open"}\n', timeout=PATIENCE)
        self.assertIn("no host 'n9'", output)
        self.assertIn("error", output)


class Crashes(OnFabric):
    WHAT = ("single-switch", "--hosts", "2", "--rails", "1")

    def setUp(self):
        super().setUp()
        self.daemon = daemon_of(self.name)

    def kill_daemon(self):
        os.kill(self.daemon, signal.SIGKILL)
        wait_for(lambda: not os.path.exists(f"/proc/{self.daemon}") or self.is_zombie(), "the daemon does not end")

    def is_zombie(self):
        with open(f"/proc/{self.daemon}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"

    def test_every_way_of_waiting_ends(self):
        polls, sleeps, listens, calls = (Shell(self, host) for host in ("n0", "n1", "n0", "n1"))
        connect(polls, sleeps)
        connect(listens, calls)
        polls.tell("poll", count=1)
        sleeps.tell("sleep")
        self.assertEqual(sleeps.hear(), {"armed": True})
        listens.tell("events", count=2)
        self.kill_daemon()
        self.assertLess(polls.hear()["failed"], 0)
        self.assertEqual(sleeps.hear(), {"failed": 5})
        self.assertEqual(listens.hear(), {"events": [{"event": 8}], "failed": 5})  # DEVICE_FATAL, EIO
        for verb in ("create", "query"):
            with self.assertRaisesRegex(AssertionError, "Input/output error"):
                calls.ask(verb)
        for shell in (polls, sleeps, listens, calls):
            shell.ask("close")
            shell.process.communicate(timeout=PATIENCE)
            self.assertEqual(shell.process.returncode, 0)
        for words in (["status"], ["down"], ["fault", "link n0/hw0 down"], ["run", "--", "true"]):
            done = fabric(words[0], "--name", self.name, *words[1:], check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("is not up", done.stderr)
        # The name is free at once.
        fabric("up", *self.WHAT, "--name", self.name)
        self.assertEqual(Shell(self, "n0").ask("query")["port_state"], "active")

    def test_a_program_that_starts_too_late(self):
        """It had been told of the fabric when there was one."""
        waiting = self.start("n0", "sh", "-c", 'echo ready; read line; exec "$0"', os.environ["VERBS_SHELL"],
                             stdin=subprocess.PIPE)
        self.assertEqual(waiting.stdout.readline(), "ready\n")
        self.kill_daemon()
        output, _ = waiting.communicate('now\n' + 5 * '{"do": "open"}\n', timeout=PATIENCE)
        # Once, however often it tries.
        self.assertEqual(output.count(f"the fabric '{self.name}' is not up"), 1, output)
        self.assertEqual(output.count("error"), 5, output)

    def test_nothing_has_a_name_anywhere(self):
        """What a process that is killed has open is gone with it: no file that others could find is among it."""
        one, two = Shell(self, "n0"), Shell(self, "n1")
        connect(one, two)
        for process in (self.daemon, one.process.pid, two.process.pid):
            opened = [os.readlink(link) for link in glob.glob(f"/proc/{process}/fd/*") if int(link.split("/")[-1]) > 2]
            with open(f"/proc/{process}/maps", encoding="ascii") as file:
                shared = [fields[5] for fields in map(str.split, file) if fields[1].endswith("s")]
            self.assertGreater(len(shared), 0)
            for target in opened + shared:
                self.assertTrue(target.startswith(("/memfd:hawser", "socket:", "pipe:", "anon_inode:")), target)
        for process in (one.process.pid, self.daemon, two.process.pid):
            os.kill(process, signal.SIGKILL)
        for folder in ("/dev/shm", "/tmp", "/var/tmp", "/run", "/run/lock", os.path.expanduser("~"), os.getcwd()):
            for entry in os.listdir(folder):
                self.assertNotIn(self.name, entry, folder)

    def holdings(self):
        """Descriptors and mappings of the daemon."""
        with open(f"/proc/{self.daemon}/maps", encoding="ascii") as file:
            shared = sum("memfd:hawser" in line for line in file)
        return len(os.listdir(f"/proc/{self.daemon}/fd")), shared

    def test_the_daemon_keeps_nothing_of_dead_programs(self):
        def crash():
            one, two = Shell(self, "n0"), Shell(self, "n1")
            for _ in range(5):
                connect(one, two)
            one.post("send", bytes=100)
            two.receive(bytes=100)
            for shell in (one, two):
                shell.process.kill()
                shell.process.wait()
            wait_for(lambda: "client:" not in fabric("status", "--name", self.name).stdout, "clients stay")
        descriptors, shared = self.holdings()
        self.assertEqual(shared, 1)  # the page that all clients read
        for _ in range(3):
            crash()
        # The daemon may have been about to close one when it was first looked at.
        wait_for(lambda: self.holdings()[0] <= descriptors and self.holdings()[1] == shared,
                 f"{self.holdings()} instead of {descriptors} descriptors and {shared} shared page")

    def test_a_client_whose_rings_are_overwritten(self):
        """By a wild pointer, say: what the daemon shares with it is filled with anything."""
        good, better, wild, victim = (Shell(self, host) for host in ("n0", "n1", "n0", "n1"))
        connect(good, better)
        connect(wild, victim, timeout=8, retries=1)
        generator = random.Random(1)
        wild.post("write", victim, bytes=100000)
        for turn in range(5):
            with open(f"/proc/{wild.process.pid}/maps", encoding="ascii") as maps, \
                    open(f"/proc/{wild.process.pid}/mem", "r+b", buffering=0) as memory:
                shared = [line.split()[:2] for line in maps if "memfd:hawser" in line]
                writable = [span.split("-") for span, rights in shared if rights == "rw-s"]
                self.assertGreaterEqual(len(writable), 3)  # doorbells, completion queue, queue pair
                # What the daemon tells all clients, none of them can overwrite.
                self.assertEqual([rights for _, rights in shared if rights != "rw-s"], ["r--s"])
                for start, end in writable:
                    memory.seek(int(start, 16))
                    memory.write(generator.randbytes(int(end, 16) - int(start, 16)))
            good.ask("fill", offset=0, bytes=5000, seed=turn)
            good.expect((good.post("write", better, bytes=5000), "SUCCESS"))
            self.assertEqual(good.look(0, 5000), better.look(0, 5000))
        wild.process.kill()
        wild.process.wait()
        wait_for(lambda: fabric("status", "--name", self.name).stdout.count("client:") == 3, "the wild client stays")

    def test_a_client_that_talks_nonsense(self):
        """Is sent away, and nobody else notices."""
        shell = Shell(self, "n0")
        for junk in (b"x", b"\0" * 3000, os.urandom(4000)):
            with self.subTest(len(junk)), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as raw:
                raw.connect(f"\0hawser/{os.getuid()}/{self.name}")
                raw.settimeout(PATIENCE)
                raw.send(junk)
                self.assertEqual(raw.recv(10), b"")
        self.assertEqual(shell.ask("query")["port_state"], "active")

    def request_for_a_picture(self):
        """What `hawser fabric topology --svg` sends, as a daemon sees it that is none."""
        name = self.name[:40] + "-fake"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as fake:
            fake.bind(f"\0hawser/{os.getuid()}/{name}")
            fake.listen()
            with subprocess.Popen([HAWSER, "fabric", "topology", "--name", name, "--svg", "/dev/null"],
                                  stderr=subprocess.DEVNULL) as asking:
                fake.settimeout(PATIENCE)
                client, _ = fake.accept()
                with client:
                    request = client.recv(65536)
                asking.wait(PATIENCE)
        self.assertIn(b"topology svg", request)
        return request

    def test_a_client_that_does_not_read_its_answers(self):
        """Waits alone, and gets all of them when it does."""
        request = self.request_for_a_picture()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as raw:
            raw.connect(f"\0hawser/{os.getuid()}/{self.name}")
            raw.setblocking(False)
            asked = 0
            with contextlib.suppress(BlockingIOError):
                while True:
                    raw.send(request)
                    asked += 1
            self.assertGreater(asked, 50)
            good, other = Shell(self, "n0"), Shell(self, "n1")
            connect(good, other)
            good.expect((good.post("write", other, bytes=100000), "SUCCESS"))
            self.assertIn("client:", fabric("status", "--name", self.name).stdout)
            raw.settimeout(PATIENCE)
            pictures = b""
            while pictures.count(b"</svg>") < asked:
                pictures += raw.recv(65536)
            self.assertEqual(pictures.count(b"<svg"), asked)


@unittest.skipUnless(os.getuid() == 0, "two users are needed, and only root can become another")
class TwoUsers(unittest.TestCase):
    """An ordinary user has a fabric that works, and nobody else gets at it, not even root by mistake."""

    def setUp(self):
        self.user = pwd.getpwnam("nobody")
        self.name = f"users-{os.getpid()}-{self.id().split('.')[-1]}"[:50]
        # The build may be where another user must not look.
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.chmod(self.folder.name, 0o755)
        build = os.path.dirname(os.path.dirname(os.path.realpath(HAWSER)))
        for part in ("bin/hawser", "bin/hawser-fabricd", *(f"lib/verbs/{each}" for each in os.listdir(f"{build}/lib/verbs"))):
            target = os.path.join(self.folder.name, part)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(os.path.join(build, part), target)
        self.shell = shutil.copy(os.environ["VERBS_SHELL"], self.folder.name)
        self.hawser = os.path.join(self.folder.name, "bin/hawser")

    def as_user(self, *command, **how):
        return subprocess.Popen(command, user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[], cwd="/",
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)

    def user_fabric(self, *words, wanted=0):
        process = self.as_user(self.hawser, "fabric", *words, "--name", self.name)
        output, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, wanted, output)
        return output

    # The interface that Shell asks of a case.
    def start(self, host, *command, **how):
        how.pop("stderr", None)
        process = self.as_user(self.hawser, "fabric", "run", "--name", self.name, "--host", host, "--", self.shell, **how)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def refused(self, uid, **who):
        """A connection to the daemon of another user is closed without an answer."""
        words = f'import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout({PATIENCE}); ' \
                f's.connect("\\0hawser/{uid}/{self.name}")\n' \
                'try:\n s.send(b"x" * 1000); got = s.recv(10)\nexcept (BrokenPipeError, ConnectionResetError):\n got = b""\n' \
                'print("closed" if got == b"" else got)'
        done = subprocess.run([sys.executable if not who else "/usr/bin/python3", "-c", words], capture_output=True,
                              text=True, timeout=PATIENCE, cwd="/", **who)
        self.assertEqual(done.stdout, "closed\n", done.stderr)

    def test_an_ordinary_user(self):
        self.user_fabric("up", "back-to-back", "--rails", "1")
        self.addCleanup(self.user_fabric, "down")
        one, two = Shell(self, "n0"), Shell(self, "n1")
        connect(one, two, timeout=10, retries=1)
        one.ask("fill", offset=0, bytes=5000, seed=1)
        one.expect((one.post("write", two, bytes=5000), "SUCCESS"))
        self.assertEqual(one.look(0, 5000), two.look(0, 5000))
        self.user_fabric("fault", "link n0/hw0 down")
        one.expect((one.post("write", two, bytes=10), "RETRY_EXC_ERR"))
        self.assertEqual(self.user_fabric("status").count("client: process"), 2)
        # Root by its own name finds nothing, and by the user's is sent away.
        self.assertIn("is not up", fabric("status", "--name", self.name, check=False).stderr)
        self.refused(self.user.pw_uid)
        one.expect_events("PORT_ERR")

    def test_a_fabric_is_closed_to_others(self):
        fabric("up", "back-to-back", "--name", self.name)
        self.addCleanup(fabric, "down", "--name", self.name)
        self.assertIn("is not up", self.user_fabric("status", wanted=1))
        self.refused(0, user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[])
        self.assertIn("2 hosts", fabric("status", "--name", self.name).stdout)

    def test_who_takes_the_name_of_anothers_fabric_is_found_out(self):
        """Anybody can listen under any abstract name."""
        words = f'import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); ' \
                f's.bind("\\0hawser/0/{self.name}"); s.listen(); print("ready", flush=True); sys.stdin.read()'
        impostor = self.as_user("/usr/bin/python3", "-c", words, stdin=subprocess.PIPE)
        self.addCleanup(impostor.communicate)
        self.assertEqual(impostor.stdout.readline(), "ready\n")
        for words in (["status"], ["down"], ["run", "--", "true"]):
            done = fabric(words[0], "--name", self.name, *words[1:], check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("belongs to another user", done.stderr)
        self.assertIn("already", fabric("up", "back-to-back", "--name", self.name, check=False).stderr)


if __name__ == "__main__":
    main(*sys.argv[2:])
