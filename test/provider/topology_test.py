#!/usr/bin/env python3
"""`hawser fabric topology`, `up --routing`, and `watch`.  Usage: topology_test.py HAWSER [unittest arguments]"""
import glob
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

from fabric_case import HAWSER, PATIENCE, OnFabric, fabric, needs, read_until
from cases import run

with_opensm = needs("opensm", "ibsim", "/usr/lib/*/umad2sim/libumad2sim.so")
# A command in a place without the folders that programs for the administrator are in.
WITHOUT_SBIN = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /usr/sbin && exec "$@"', "sh"]


def explain(*words):
    return fabric("topology", *words).stdout


def refused(*words):
    done = fabric(*words, check=False)
    assert done.returncode not in (0, 127) and done.returncode < 128, done
    return done.stderr


def reachable(text):
    found = re.search(r"^(\d+) of (\d+) \(adapter port, LID of another\) reachable$", text, re.M)
    return (int(found[1]), int(found[2])) if found else None


def spines(text):
    return {int(n): int(pairs) for n, pairs in re.findall(r"^ +(\d+) +(\d+) pairs ", text, re.M)}


def loads(text, leaf, direction):
    """The loads of a leaf's ports, as printed."""
    for line in text.splitlines():
        if re.match(rf"{leaf} +{direction} ", line):
            return [int(word) for word in line.split()[2:]]
    raise AssertionError(f"no line {leaf} {direction} in\n{text}")


def scratch_folders():
    return glob.glob(os.path.join(os.environ["TMPDIR"], "hawser-opensm-*"))


class Builtin(unittest.TestCase):
    ROUTING = "builtin"

    def test_everything_is_reachable_over_as_many_spines_as_lids(self):
        for lmc in (0, 2, 3):
            text = explain("fat-tree-144", "--lmc", str(lmc), "--routing", self.ROUTING, "--paths")
            pairs = 144 * 143 << lmc
            self.assertEqual(reachable(text), (pairs, pairs), text)
            self.assertEqual(spines(text), {1 << lmc: 144 * 132}, text)

    def test_even_tables_carry_the_displaced_ring_without_hot_spots(self):
        for lmc in (0, 2, 3):
            text = explain("fat-tree-144", "--lmc", str(lmc), "--routing", self.ROUTING, "--flows", "displaced-ring:12")
            for leaf in ("LEAF00", "LEAF01"):
                self.assertEqual(loads(text, leaf, "up"), [1] * 12, text)
                self.assertEqual(loads(text, leaf, "down"), [1] * 12, text)

    def test_shuffled_tables_have_the_hot_spots_of_figure_3_5(self):
        # The smallest seeds whose greatest load is 4, as in the figure.
        seed = {"builtin": "3", "opensm": "9"}[self.ROUTING]
        text = explain("fat-tree-144", "--lmc", "2", "--routing", self.ROUTING, "--shuffle-seed", seed, "--paths",
                       "--flows", "displaced-ring:12")
        self.assertEqual(reachable(text), (82368, 82368), text)
        self.assertEqual(spines(text), {4: 19008}, text)
        up = loads(text, "LEAF00", "up") + loads(text, "LEAF01", "up")
        self.assertEqual(sum(up), 24, text)
        self.assertEqual((min(up), max(up)), (0, 4), text)

    def test_several_subnets(self):
        for what, pairs in (("two-switch", 2 * 6 * 4), ("back-to-back", 4 * 4), ("single-switch", 30 * 4)):
            hosts = "2" if what == "back-to-back" else "3"
            text = explain(what, "--hosts", hosts, "--lmc", "2", "--routing", self.ROUTING, "--paths")
            self.assertEqual(reachable(text), (pairs, pairs), text)

    def test_a_file_of_one_s_own(self):
        with tempfile.TemporaryDirectory() as folder:
            net = os.path.join(folder, "ring.net")
            names = [f"S{i}" for i in range(4)]
            with open(net, "w", encoding="ascii") as out:
                for i, name in enumerate(names):
                    out.write(f'Switch 8 "{name}" # "switch number {i}"\n')
                    out.write(f'[1] "host {i}"[1]\n[2] "{names[(i + 1) % 4]}"[3]\n[3] "{names[i - 1]}"[2]\n\n')
                    out.write(f'Hca 2 "host {i}" # "node{i} HCA-1"\n[1] "{name}"[1]\n\n')
            text = explain(net, "--lmc", "1", "--routing", self.ROUTING, "--paths")
            self.assertEqual(reachable(text), (24, 24), text)
            self.assertEqual(scratch_folders(), [])


@with_opensm
class OpenSm(Builtin):
    ROUTING = "opensm"

    def test_other_engines(self):
        for engine in ("minhop", "dfsssp"):
            text = explain("fat-tree-144", "--lmc", "2", "--routing", f"opensm:{engine}", "--paths")
            self.assertIn(f"OpenSM {engine}", text)
            self.assertEqual(reachable(text), (82368, 82368), text)

    def test_engines_that_cannot_do_it_are_refused(self):
        self.assertIn("ftree does not support LMC > 0", refused("topology", "fat-tree-144", "--lmc", "2", "--routing",
                                                                "opensm:ftree"))
        # There is no tree in one switch, so that OpenSM would take another engine.
        error = refused("topology", "single-switch", "--routing", "opensm:ftree")
        self.assertRegex(error, "engine 'ftree' cannot route this|instead of 'ftree'")
        self.assertEqual(scratch_folders(), [])

    def test_interrupt_cleans_up(self):
        process = subprocess.Popen([HAWSER, "fabric", "topology", "fat-tree-144", "--lmc", "3", "--routing", "opensm",
                                    "--paths"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while not scratch_folders():
            self.assertIsNone(process.poll(), "it ended without a folder for OpenSM")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=PATIENCE)
        self.assertIn(process.returncode, (-signal.SIGINT, 0))
        self.assertEqual(scratch_folders(), [])


class OpenSmMissing(unittest.TestCase):
    def test_the_package_is_named(self):
        if subprocess.run([*WITHOUT_SBIN, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("namespaces for mounted file systems are not allowed here")
        done = subprocess.run([*WITHOUT_SBIN, HAWSER, "fabric", "topology", "back-to-back", "--routing", "opensm"],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("install the package opensm", done.stderr)


class Chunks(unittest.TestCase):
    """What takes long on a slow link is warned of, and is chosen only by who says so."""

    def up(self, parameters):
        name = f"test-{os.getpid()}-chunks"
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(parameters)
            file.flush()
            done = fabric("up", "two-switch", "--name", name, "--parameters", file.name)
        fabric("down", "--name", name)
        return done.stderr

    def test_a_coarse_one_on_a_slow_link(self):
        said = self.up("link-rate 200MB/s\nchunk 64K\nlink n0/hw0 rate 10MB/s\n")
        self.assertIn("a chunk of 65536 bytes takes 6.6 ms on the slowest link (10 MB/s)", said)
        self.assertIn("Write 'chunk 8192' in the file of parameters.", said)

    def test_one_that_is_as_fine_as_it_can_be(self):
        self.assertIn("Write 'mtu 1024 chunk 1024'", self.up("link-rate 1MB/s\n"))

    def test_others(self):
        for parameters in ("link-rate 200MB/s\n", "link-rate 10MB/s\n", "link-rate 50MB/s chunk 64K\n", "chunk 64K\n"):
            self.assertEqual(self.up(parameters), "", parameters)


class Mistakes(unittest.TestCase):
    def test_words(self):
        cases = (
            (("nonesuch",), "cannot read 'nonesuch': No such file or directory; nor is it a built-in topology"),
            (("/tmp",), "cannot read '/tmp': Is a directory"),
            (("fat-tree-144", "--ports", "2"), "fat-tree-144 has one port per adapter"),
            (("fat-tree-144", "--hosts", "145"), "the fat tree has ports for 1 to 144"),
            (("back-to-back", "--lmc", "8"), "--lmc:1: lmc: '8' is not a number from 0 to 7"),
            (("back-to-back", "--routing", "wild"), "--routing wild: must be"),
            (("back-to-back", "--routing", "opensm:wild"), "no engine 'wild'"),
            (("back-to-back", "--parameters", "/nonesuch"), "cannot read '/nonesuch'"),
            (("back-to-back", "--flows", "ring"), "'ring' is no pattern of flows"),
            (("back-to-back", "--flows", "displaced-ring:1:3"), "'3' is not a number of ranks from 2 to 2"),
            (("back-to-back", "--flows", "displaced-ring:0"), "'0' is not a number of steps"),
            (("back-to-back", "--flows", "n0/hw0>n7/hw0"), "n7/hw0"),
            (("single-switch", "--flows", "n0/hw0>switch0:1"), "flows go between adapters"),
            (("back-to-back", "--flows", "all-to-all", "--lid-offset", "1"), "there is no LID offset 1"),
            (("back-to-back", "--flows", "all-to-all", "--lid-offset", "some"), "--lid-offset some"),
            (("back-to-back", "--svg", "/nonesuch/x.svg"), "cannot write '/nonesuch/x.svg'"),
        )
        for words, error in cases:
            self.assertIn(error, refused("topology", *words))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            net, parameters = os.path.join(folder, "a.net"), os.path.join(folder, "p")
            with open(net, "w", encoding="ascii") as out:
                out.write('Hca 1 "A"\n[1] "B"[1]\n')
            for words in (("topology", net), ("up", net)):
                self.assertIn(f"{net}:2: 'A' is connected to 'B', which is not described", refused(*words))
            with open(parameters, "w", encoding="ascii") as out:
                out.write("lmc 1\nlink-rat 5MB/s\n")
            self.assertIn(f"{parameters}:2: there is no parameter 'link-rat'",
                          refused("topology", "back-to-back", "--parameters", parameters))
            with open(parameters, "w", encoding="ascii") as out:
                out.write("congestion-control on\n")
            self.assertIn("needs an ecn-threshold", refused("up", "back-to-back", "--parameters", parameters))
            with open(parameters, "w", encoding="ascii") as out:
                out.write("ecn-threshold 4K\nccti-timer 0\n")
            self.assertIn(f"{parameters}:2: ccti-timer must be more", refused("up", "two-switch", "--parameters", parameters))
            with open(net, "w", encoding="ascii") as out:
                out.write('Hca 1 "A"\n[1] "B"[1]\n\nHca 1 "B"\n[1] "A"[1]\n')
            self.assertIn("are for built-in topologies", refused("topology", net, "--hosts", "3"))


class Pictures(unittest.TestCase):
    def draw(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.svg")
            explain(*words, "--svg", path)
            with open(path, encoding="utf-8") as text:
                return xml.etree.ElementTree.fromstring(text.read())

    @staticmethod
    def count(picture, what):
        return len(picture.findall(f".//{{http://www.w3.org/2000/svg}}{what}"))

    def test_every_cable_is_drawn(self):
        self.assertEqual(self.count(self.draw("fat-tree-144"), "line"), 288)
        self.assertEqual(self.count(self.draw("two-switch"), "line"), 4)
        self.assertEqual(self.count(self.draw("back-to-back"), "line"), 2)
        self.assertEqual(self.count(self.draw("back-to-back", "--flows", "all-to-all"), "line"), 2)

    def test_flows_are_marked(self):
        picture = self.draw("fat-tree-144", "--shuffle-seed", "3", "--lmc", "2", "--flows", "displaced-ring:12")
        texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("4", texts)
        self.assertIn("LEAF01", texts)
        self.assertNotIn("LEAF02", texts)


class LiveTopology(OnFabric):
    WHAT = ("fat-tree-144", "--lmc", "2", "--shuffle-seed", "3")

    def test_live_tables_are_those_of_the_plan(self):
        live = fabric("topology", "--name", self.name, "--paths", "--flows", "displaced-ring:12").stdout
        plan = explain(*self.WHAT, "--paths", "--flows", "displaced-ring:12")
        self.assertTrue(plan.endswith(live), plan)
        self.assertIn("no pattern of flows", refused("topology", "--name", self.name, "--flows", "x"))
        fabric("fault", "tables LEAF00 200 24", "--name", self.name)
        self.assertEqual(fabric("topology", "--name", self.name).stdout, explain("fat-tree-144"))


@with_opensm
class OpenSmFabric(OnFabric):
    WHAT = ("two-switch", "--hosts", "3", "--lmc", "2", "--routing", "opensm", "--rate", "200MB/s")

    def test_programs_run_on_its_tables(self):
        self.assertIn("routing: OpenSM updn", fabric("status", "--name", self.name).stdout)
        self.assertIn("PORT_ACTIVE", self.run_on("n2", "ibv_devinfo"))


class Watch(OnFabric):
    WHAT = ("two-switch", "--rate", "100MB/s")

    def watch(self, *words):
        return fabric("watch", "--name", self.name, "--interval", "20ms", *words).stdout

    def test_links_and_faults(self):
        self.assertIn("no link carries anything", self.watch("--once"))
        fabric("fault", "link n1/hw1 down", "--name", self.name)
        text = self.watch("--count", "2")
        self.assertEqual(len(re.findall(r"^fabric .*: 4 links, 1 down; 0 clients; lag ", text, re.M)), 2, text)
        self.assertRegex(text, r"(?m)^n1/hw1 - switch1:2 +DOWN +0\.0 +0\.0")
        self.assertRegex(text, r"(?m)^[0-9.]+ link n1/hw1 down$")
        self.assertNotIn("\x1b", text)
        self.assertEqual(len(re.findall(r"(?m)^n\d/hw\d - switch\d:\d +up", self.watch("--once", "--all"))), 3)

    def test_ends_when_interrupted(self):
        master, slave = pty.openpty()
        process = subprocess.Popen([HAWSER, "fabric", "watch", "--name", self.name, "--interval", "20ms"], stdout=slave,
                                   stderr=slave)
        self.started.append(process)
        os.close(slave)
        seen = read_until(lambda text: text.count(b"links") >= 2, master, PATIENCE)
        self.assertIn(b"\x1b[H", seen)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=PATIENCE), 0)
        os.close(master)

    def test_ends_with_the_fabric(self):
        process = subprocess.Popen([HAWSER, "fabric", "watch", "--name", self.name, "--interval", "20ms"],
                                   stdout=subprocess.PIPE, text=True)
        self.started.append(process)
        process.stdout.readline()
        fabric("down", "--name", self.name)
        output = process.communicate(timeout=PATIENCE)[0]
        self.assertEqual(process.returncode, 0)
        self.assertTrue(output.endswith(f"fabric {self.name} has ended\n"), output[-300:])

    def test_records_bytes_and_faults(self):
        with tempfile.NamedTemporaryFile(dir=os.environ.get("TMPDIR")) as file:
            process = subprocess.Popen([HAWSER, "fabric", "watch", "--name", self.name, "--interval", "20ms", "--record",
                                        file.name], stdout=subprocess.PIPE, text=True)
            self.started.append(process)
            end = time.monotonic() + PATIENCE
            while not file.read():  # until it has seen the fabric as it was
                self.assertLess(time.monotonic(), end, "nothing is recorded")
                time.sleep(0.005)
            faults = ["link n1/hw1 down", *["link n0/hw0 delay 1us"] * 7]
            for fault in faults:
                fabric("fault", fault, "--name", self.name)
            command = ("ib_write_bw", "-d", "hw0", "-n", "100", "-s", "65536", "-F")
            server, port = self.serve(*command)
            self.run_on("n1", *command, "-p", str(port), "localhost")
            self.finish(server)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.communicate(timeout=PATIENCE)[0], "")
            self.assertEqual(process.returncode, 0)
            file.seek(0)
            first, *rest = [json.loads(line) for line in file]
        self.assertEqual(first["fabric"], self.name)
        self.assertEqual([link["a"] for link in first["links"]], ["n0/hw0", "n0/hw1", "n1/hw0", "n1/hw1"])
        self.assertEqual({link["rate"] for link in first["links"]}, {100e6})
        now = time.clock_gettime(time.CLOCK_MONOTONIC)
        self.assertLess(now - PATIENCE, first["origin"] + rest[-1]["seconds"])
        self.assertLess(first["origin"] + rest[-1]["seconds"], now)
        self.assertEqual([line["fault"] for line in rest if "fault" in line], faults)
        looks = [line for line in rest if "out" in line]
        self.assertEqual(looks[-1]["down"], [3])
        out = [sum(look["out"][link] for look in looks) for link in range(4)]
        self.assertGreaterEqual(out[2], 100 * 65536)  # n1/hw0 wrote
        self.assertGreaterEqual(sum(look["in"][0] for look in looks), 100 * 65536)
        self.assertEqual((out[1], out[3]), (0, 0))

    def test_mistakes(self):
        self.assertIn("/nonesuch/file: No such file", refused("watch", "--name", self.name, "--record", "/nonesuch/file"))
        self.assertIn("unknown option --often of watch", refused("watch", "--often"))
        self.assertIn("'5' is not a duration", refused("watch", "--interval", "5"))
        self.assertIn("--count 0", refused("watch", "--count", "0"))
        self.assertIn("is not up", refused("watch", "--name", "nonesuch"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="hawser-topology-") as scratch:
        os.environ["TMPDIR"] = scratch  # of our own, so that what is left in it is ours
        code = run(sys.argv[2:])
    sys.exit(code)
