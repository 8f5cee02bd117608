"""What the tests of the emulator share: a fabric per case, and programs on its hosts.

The first argument of a test program is the `hawser` command; the others are unittest's.
"""
import json
import os
import select
import subprocess
import sys
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "test", "support"), os.path.join(ROOT, "python")]
from cases import main, needs, read_until  # noqa: E402, F401
from hawser_lab import PATIENCE, Fabric, processes  # noqa: E402
from hawser_lab.fabric import command, daemon_of  # noqa: E402, F401

HAWSER = sys.argv[1]


def fabric(*words, check=True):
    done = command(HAWSER, *words)
    if check and done.returncode != 0:
        raise AssertionError(f"hawser fabric {' '.join(words)}: {done.returncode}\n{done.stderr}")
    return done


class OnFabric(unittest.TestCase):
    """A fabric per case."""
    WHAT = ("back-to-back",)

    def setUp(self):
        self.started = []
        self.bring_up(f"test-{os.getpid()}-{self.id().split('.')[-1]}"[:50], *self.WHAT)
        self.addCleanup(self.take_down)

    def bring_up(self, name, *what):
        self.name = name
        self.fabric = Fabric(HAWSER, name)
        self.fabric.up(*what)

    def take_down(self):
        processes.end_all(self.started)
        self.fabric.down()
        self.assertFalse(self.fabric.listening())

    def start(self, host, *program, **how):
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **how}
        process = subprocess.Popen(self.fabric.on_host(host, *program), text=True, **how)
        self.started.append(process)
        return process

    def finish(self, process):
        output, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, output)
        return output

    def run_on(self, host, *command):
        return self.finish(self.start(host, *command))

    def serve(self, *command, port_option="-p"):
        """Starts a program on n0 that listens on a port, and waits until it does."""
        port = processes.free_port()
        server = self.start("n0", *command, port_option, str(port))
        processes.wait_until_listens(server, port)
        return server, port

    def pair(self, *command):
        server, port = self.serve(*command)
        client = self.start("n1", *command, "-p", str(port), "localhost")
        output = self.finish(client)
        self.finish(server)
        return output


STATUSES = ["SUCCESS", "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_EEC_OP_ERR", "LOC_PROT_ERR", "WR_FLUSH_ERR", "MW_BIND_ERR",
            "BAD_RESP_ERR", "LOC_ACCESS_ERR", "REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR", "RETRY_EXC_ERR",
            "RNR_RETRY_EXC_ERR"]
EVENTS = ["CQ_ERR", "QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR", "COMM_EST", "SQ_DRAINED", "PATH_MIG", "PATH_MIG_ERR",
          "DEVICE_FATAL", "PORT_ACTIVE", "PORT_ERR", "LID_CHANGE", "PKEY_CHANGE", "SM_CHANGE", "SRQ_ERR",
          "SRQ_LIMIT_REACHED", "QP_LAST_WQE_REACHED", "CLIENT_REREGISTER", "GID_CHANGE"]


class Shell:
    """A verbs_shell on a host: one process, one device, its queue pairs."""

    def __init__(self, case, host, **options):
        self.case = case
        self.process = case.start(host, os.environ["VERBS_SHELL"], stdin=subprocess.PIPE, stderr=None)
        self.pending = b""
        self.last_id = 0
        self.facts = self.ask("open", **options)

    def tell(self, verb, **arguments):
        self.process.stdin.write(json.dumps({"do": verb, **arguments}) + "\n")
        self.process.stdin.flush()

    def hear(self):
        end = time.monotonic() + PATIENCE
        source = self.process.stdout.fileno()
        while b"\n" not in self.pending:
            ready, _, _ = select.select([source], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError("verbs_shell does not answer")
            part = os.read(source, 1 << 16)
            if not part:
                raise AssertionError(f"verbs_shell has ended: {self.pending.decode()}")
            self.pending += part
        line, self.pending = self.pending.split(b"\n", 1)
        answer = json.loads(line)
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer

    def ask(self, verb, **arguments):
        self.tell(verb, **arguments)
        return self.hear()

    def post(self, op, to=None, at=0, **arguments):
        """A work request; `at` is an offset in the memory of the shell `to`. Returns its number."""
        self.last_id += 1
        if to is not None:
            arguments = {"remote": to.facts["address"] + at, "rkey": to.facts["rkey"], **arguments}
        self.ask("post", op=op, id=self.last_id, **arguments)
        return self.last_id

    def receive(self, **arguments):
        self.last_id += 1
        self.ask("receive", id=self.last_id, **arguments)
        return self.last_id

    def poll(self, count=1, milliseconds=PATIENCE * 1000):
        """(number, status) of what completed, in order."""
        found = self.ask("poll", count=count, milliseconds=milliseconds)["completions"]
        return [(each["id"], STATUSES[each["status"]]) for each in found]

    def events(self, count=1, milliseconds=PATIENCE * 1000):
        return [EVENTS[each["event"]] for each in self.ask("events", count=count, milliseconds=milliseconds)["events"]]

    def look(self, offset, count):
        return self.ask("look", offset=offset, bytes=count)

    def state(self, **arguments):
        return self.ask("query", **arguments)["state"]

    def expect(self, *wanted):
        """Exactly these completions, in this order, and no more."""
        self.case.assertEqual(self.poll(len(wanted)), list(wanted))
        self.case.assertEqual(self.poll(0, 0), [])

    def expect_events(self, *wanted):
        self.case.assertEqual(sorted(self.events(len(wanted))), sorted(wanted))
        self.case.assertEqual(self.events(0, 0), [])


def connect(one, other, alternate_port=None, **options):
    """A new queue pair at each, joined. Returns their indices."""
    made = [each.ask("create") for each in (one, other)]
    for here, there, mine, peer in ((one, other, 0, 1), (other, one, 1, 0)):
        words = {"qp": made[mine]["qp"], "number": made[peer]["number"], "lid": there.facts["lids"][0],
                 "gid": there.facts["gid"], **options}
        if alternate_port is not None:
            words["alternate"] = {"lid": there.facts["lids"][alternate_port - 1], "port": alternate_port}
        here.ask("connect", **words)
    return made[0]["qp"], made[1]["qp"]
