"""report.py ethernet: plain Ethernet beside InfiniBand, in a network namespace with a cable."""
import os
import subprocess
import sys
import time

from faults import MS, settle
from speed import MIB, RATE, bandwidth_words, hawser
from shared import Failed, Stream, median, mpibench

ETHERNET = 25  # MB/s
INSIDE = "ETHERNET_REPORT_IN_NAMESPACE"
ONE_RAIL = ("two-switch", "--hosts", "2", "--rails", "1")
# Rank r has the interface eth<r>, if any.
WRAPPER = ("sh", "-c", 'HAWSER_RAIL_ETHERNET=${WITH_ETHERNET:+eth$PMI_RANK} exec "$@"', "sh")
VARIABLES = {"WITH_ETHERNET": "1"}
# A cable between two interfaces of one namespace (the fabric's sockets know no other). What one address sends to the other
# must not take the short way through the kernel: the table of local addresses counts only for what has come in.
CABLE = """
link set lo up
link add eth0 type veth peer name eth1
address add 10.77.0.1/24 dev eth0
address add 10.77.1.1/24 dev eth1
rule add pref 10 iif eth0 lookup local
rule add pref 11 iif eth1 lookup local
rule add pref 20 iif lo lookup 77
rule add pref 30 lookup local
rule del pref 0
"""
PLUG = """
link set eth0 up
link set eth1 up
route replace 10.77.1.1 dev eth0 src 10.77.0.1 table 77
route replace 10.77.0.1 dev eth1 src 10.77.1.1 table 77
"""
UNPLUG = "link set eth0 down"


def ip(commands):
    for line in commands.strip().splitlines():
        subprocess.run(["ip", *line.split()], check=True)


def enter_namespace():
    """Begins anew in a namespace; there, lays a cable of the Ethernet's rate, both ways at once."""
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, "-B", *sys.argv])
    ip(CABLE)
    for interface in ("eth0", "eth1"):
        with open(f"/proc/sys/net/ipv4/conf/{interface}/accept_local", "w", encoding="ascii") as setting:
            setting.write("1")
        # Of payload: 1448 of the 1514 bytes of a frame.
        words = f"tc qdisc add dev {interface} root tbf rate {8 * ETHERNET * 1514 // 1448}mbit burst 64k latency 20ms"
        subprocess.run(words.split(), check=True)
    ip(PLUG)


def bandwidths(options, report, testbed):
    size = 4 * MIB
    words = bandwidth_words(False, size, int(RATE * 1e6))
    slow_words = bandwidth_words(False, size, ETHERNET * 1_000_000)
    rows = []
    for _ in range(options.runs):
        with testbed.fabric(*ONE_RAIL, "--rate", f"{RATE}MB/s") as fabric:
            alone = hawser(fabric, *words)[size]
            both = hawser(fabric, *words, variables=VARIABLES)[size]
        command = [testbed.bin / "mpiexec", "-hosts", "a,b", "-n", "2", *WRAPPER, mpibench(testbed), *slow_words]
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
        ip(UNPLUG)
        time.sleep(5)
        fabric.fault("link n0/hw0 up")
        ip(PLUG)
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
    testbed.wrapper = WRAPPER
    bandwidths(options, report, testbed)
    small_messages(options, report, testbed)
    cuts(report, testbed)
