"""report.py ethernet: plain Ethernet beside InfiniBand, in a network namespace whose loopback interface it is."""
import os
import subprocess
import sys
import time

from faults import MS, settle
from speed import MIB, RATE, bandwidth_words, hawser
from testbed import Failed, Stream, median

ETHERNET = 25  # MB/s
INSIDE = "ETHERNET_REPORT_IN_NAMESPACE"
ONE_RAIL = ("two-switch", "--hosts", "2", "--rails", "1")
VARIABLES = {"HAWSER_RAIL_ETHERNET": "lo"}


def enter_namespace():
    """Begins anew in a namespace; there, makes the interface slow."""
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, "-B", *sys.argv])
    for words in ("ip link set lo up", f"tc qdisc add dev lo root tbf rate {8 * ETHERNET}mbit burst 256k latency 50ms"):
        subprocess.run(words.split(), check=True)


def bandwidths(options, report, testbed):
    size = 4 * MIB
    words = bandwidth_words(False, size, int(RATE * 1e6))
    slow_words = bandwidth_words(False, size, ETHERNET * 1_000_000)
    rows = []
    for _ in range(options.runs):
        with testbed.fabric(*ONE_RAIL, "--rate", f"{RATE}MB/s") as fabric:
            alone = hawser(fabric, *words)[size]
            both = hawser(fabric, *words, variables=VARIABLES)[size]
        command = [testbed.bin / "mpiexec", "-hosts", "a,b", "-n", "2", testbed.mpibench(), *slow_words]
        output = testbed.finish(testbed.popen(command, env={**os.environ, **VARIABLES, "HAWSER_NETWORK": "rails"}))
        rows.append((alone, float(output.split()[-1]), both))
    report.keep("together", {"bytes": size, "infiniband": [row[0] for row in rows], "ethernet": [row[1] for row in rows],
                             "both": [row[2] for row in rows], "nominal": [RATE, ETHERNET]})
    infiniband, ethernet, both = (median(column) for column in zip(*rows))
    total = infiniband + ethernet
    report.row("4 MiB, MB/s: InfiniBand, Ethernet alone", f"{infiniband:.1f}, {ethernet:.1f}")
    report.row("both together, of the sum", f"{both:.1f}: {both / total:.1%}", ">= 95 %", both >= 0.95 * total)


def small_messages(options, report, testbed):
    words = ("latency", "-m", "8:8", "-i", 3000, "-x", 300)
    with testbed.fabric(*ONE_RAIL) as fabric:
        rows = [(hawser(fabric, *words)[8], hawser(fabric, *words, variables=VARIABLES)[8]) for _ in range(options.runs)]
    alone, both = (median(column) for column in zip(*rows))
    report.row("8 B, us: with Ethernet beside, InfiniBand alone", f"{both:.1f}, {alone:.1f}: {both / alone:.2f}", "equal (<= 1.05)",
               both <= 1.05 * alone)


def rate(bins, begin, end):
    """MB/s of the whole tenths of a second between."""
    counts = [count for at, count in bins if begin <= at and at + 100 * MS <= end]
    return sum(counts) / len(counts) / 1e5 if counts else 0.0


def cuts(report, testbed):
    """InfiniBand cut for 4 s; then both for 5 s, of which InfiniBand comes back first."""
    with testbed.fabric(*ONE_RAIL, "--rate", f"{RATE}MB/s") as fabric:
        stream = Stream(fabric, MIB, 8, variables=VARIABLES)
        if not stream.logs.all_ready(2):
            raise Failed("the rails do not become ready")
        time.sleep(3)
        fabric.fault("link n0/hw0 down")
        time.sleep(4)
        fabric.fault("link n0/hw0 up")
        time.sleep(4)
        fabric.fault("link n0/hw0 down")
        subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
        time.sleep(5)
        fabric.fault("link n0/hw0 up")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        time.sleep(4)
        gaps, bins = stream.end()
        (cut, healed, both_cut, back), _ = fabric.fault_times()
    report.keep("cuts", {"bins": bins, "cut": cut, "healed": healed, "both_cut": both_cut, "back": back})
    before = rate(bins, bins[0][0] + 1000 * MS, cut)
    meanwhile = rate(bins, cut + 1000 * MS, healed)
    pause = max((b - a for a, b in gaps if b > cut and a < healed), default=0) / MS
    report.row("before; with InfiniBand cut, MB/s", f"{before:.1f}; {meanwhile:.1f}", f">= 90 % of {ETHERNET}",
               meanwhile >= 0.9 * ETHERNET)
    report.row("longest gap at the cut", f"{pause:.0f} ms")
    for label, begin in (("InfiniBand back", healed), ("both back after 5 s", back)):
        after = settle([b for b in bins if b[0] >= begin - 100 * MS], begin, 0.9 * before * 1e5)
        report.row(f"{label}: until >= 90 % of the rate before", "never" if after is None else f"{after:.0f} ms", "<= 2000 ms",
                   after is not None and after <= 2000)
    waited = max((b - a for a, b in gaps if b > both_cut and a < back + 5000 * MS), default=0) / MS
    report.row("both cut for 5 s: stood still for", f"{waited:.0f} ms", "5000 ms, goes on", 4500 <= waited <= 7000)


def ethernet(options, report, testbed):
    report.head(f"InfiniBand of {RATE} MB/s and Ethernet of {ETHERNET} MB/s")
    bandwidths(options, report, testbed)
    small_messages(options, report, testbed)
    cuts(report, testbed)
