"""V07 chapter 9: what automatic path migration costs, and what it saves."""
import pathlib
import re
import tempfile

from machine import two_ports, with_faults
from reproduce.simulated import by_size, compiled, micro_benchmarks
from report_page.axes import bytes_axis, linear_axis, log_axis
from report_page.charts import Series, bar_chart, line_chart
from report_page.page import Figure, Section

PEERS = (1, 2, 4, 8, 16, 32, 64, 126)  # a switch of the fabric has room for no more hosts with two ports each
MOST_PEERS = PEERS[-1]
SIZES = (1, 8, 32, 128, 512, 1024)
ALL_SIZES = (1, 16, 256, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
PING_BYTES = 128
PORT = "n0/hw0:1"
MODES = {"migration": "auto", "software": "off"}
FAULTS = {"pulled": "down", "silent": "blackhole both"}
# An estimate of what a modern kernel takes to make a queue pair ready; and what the library does for a message.
COSTS = ("--queue-pair-cost", "200us", "--post-cost", "250ns", "--completion-cost", "250ns")
SETTLED, CONNECT_ENDS = 0.12, 0.2
ROUNDS = 6
# Kernel, class -> points of the run at which the cable is pulled, ways to fail. Class A of FT takes long to compute.
KERNELS = {("is", "a"): (4, ("pulled", "silent")), ("ft", "w"): (8, ("pulled", "silent")), ("ft", "a"): (3, ("pulled",)),
           ("lu", "a"): (8, ("pulled", "silent"))}
PROGRAM_OF_LU_SECONDS = 256  # V07 9.4.6, class B


def connecting(mode, **more):
    # Peers are connected before the first message, which would go by a datagram otherwise.
    return {"HAWSER_RAIL_MIGRATION": MODES[mode], "HAWSER_RAIL_DATAGRAMS": "0", **more}


def runs():
    for mode in MODES:
        for peers in PEERS:
            yield {"test": "connect", "setting": f"{peers} {mode}"}
    for case in ("none", *FAULTS):
        for mode in MODES:
            for peers in PEERS:
                yield {"test": f"pings, {case}", "setting": f"{peers} {PING_BYTES} {mode}"}
            for size in SIZES:
                if size != PING_BYTES:
                    yield {"test": f"pings, {case}", "setting": f"{MOST_PEERS} {size} {mode}"}
    for peers in PEERS:
        for mode in MODES:
            yield {"test": "pings, loading", "setting": f"{peers} {PING_BYTES} {mode}"}
    for test in ("latency", "bw"):
        for mode in MODES:
            yield {"test": test, "setting": mode}
    for (kernel, size), (_, ways) in KERNELS.items():
        for mode in MODES:
            for way in ways:
                yield {"test": f"{kernel} {size}", "setting": f"{mode} {way}"}


def programs(build, folder, here):
    return {"rounds": compiled(build, [here / "rounds.c"], folder), "connect": compiled(build, [here / "connect.c"], folder),
            "benchmarks": micro_benchmarks(build, folder)}


# Connecting.


def migrations(build, program, peers, at):
    """When each queue pair of rank 0's host migrated, in us after its port went down at that time, in us."""
    with tempfile.TemporaryDirectory(prefix="hawser-experiment-") as folder:
        trace = pathlib.Path(folder) / "trace"
        with_faults(build, two_ports(*COSTS), peers + 1, program, CONNECT_ENDS, faults=[(at / 1e6, f"link {PORT} down")],
                    options=("--trace", trace), variables=connecting("migration"))
        found = re.findall(r"^(\d+) n0/hw0 qp \d+ migrated", trace.read_text(encoding="ascii"), re.M)
    return [int(time) / 1e3 - at for time in found]


def run_connect(build, program, peers, mode):
    connected = float(with_faults(build, two_ports(*COSTS), peers + 1, program, CONNECT_ENDS, variables=connecting(mode)))
    rows = [{"x": "connected", "figure": f"{connected:.3f}"}]
    if mode != "migration":
        return rows
    late = 1e6 * SETTLED
    times = migrations(build, program, peers, late)
    # All are armed from some moment on.
    low, high = 0.0, late
    while high - low > 20:
        middle = (low + high) / 2
        if len(migrations(build, program, peers, middle)) < len(times):
            low = middle
        else:
            high = middle
    return rows + [{"x": "armed", "figure": f"{high:.0f}"}, {"x": "migrated", "figure": f"{max(times):.3f}"},
                   {"x": "queue pairs", "figure": len(times)}]


# Pings.


def pings(build, program, peers, size, mode, faults=(), settled=SETTLED):
    text = with_faults(build, two_ports(*COSTS), peers + 1, program, size, ROUNDS, settled, faults=faults,
                       variables=connecting(mode))
    return [tuple(map(float, line.split())) for line in text.splitlines()]


def run_pings(build, program, case, peers, size, mode):
    """The mean half round trip of those that it concerns."""
    if case == "loading":
        # From the second round on, while alternate paths are loaded.
        found = pings(build, program, peers, size, mode, settled=0)[peers:]
    else:
        found = pings(build, program, peers, size, mode)
        if case != "none":
            at = found[2 * peers][0]
            found = pings(build, program, peers, size, mode, [(at / 1e6, f"link {PORT} {FAULTS[case]}")])
            # Each peer once.
            found = [ping for ping in found if ping[0] + 2 * ping[1] > at][:peers]
    return [{"x": "us", "figure": f"{sum(half for _, half in found) / len(found):.3f}"}]


# Kernels.


def run_kernel(build, program, size, points, mode, way):
    """4 hosts with 2 ranks each, as in the paper. Times in us: without a fault, then with one at several points."""
    def time(faults=()):
        return float(with_faults(build, two_ports(), 8, program, size, faults=faults, per_node=2,
                                 variables={"HAWSER_RAIL_MIGRATION": MODES[mode]}))
    whole = time()
    rows = [{"x": "none", "figure": whole}]
    for i in range(points):
        at = (i + 0.5) / points * whole / 1e6
        rows.append({"x": i, "figure": time([(at, f"link {PORT} {FAULTS[way]}")])})
    return rows


def run(build, made, test, setting):
    if test == "connect":
        peers, mode = setting.split()
        return run_connect(build, made["connect"], int(peers), mode)
    if test.startswith("pings, "):
        peers, size, mode = setting.split()
        return run_pings(build, made["rounds"], test.removeprefix("pings, "), int(peers), int(size), mode)
    if test in ("latency", "bw"):
        # Long enough for latencies to settle: the library learns the rates of both ports, and alternate paths are loaded.
        rounds = ("-x", 600, "-i", 100) if test == "latency" else ("-x", 20, "-i", 20)
        text = with_faults(build, two_ports(*COSTS), 2, made["benchmarks"], test, "-s", ",".join(map(str, ALL_SIZES)), *rounds,
                           variables={"HAWSER_RAIL_MIGRATION": MODES[setting]})
        return [{"x": size, "figure": figure} for size, figure in by_size(text).items()]
    kernel, size = test.split()
    return run_kernel(build, made[kernel], size, KERNELS[kernel, size][0], *setting.split())


# What came out.


def connect_time(results, what, peers, mode="migration"):
    return results.value(test="connect", setting=f"{peers} {mode}", x=what)


def since(results, what, peers):
    """us: of "migrated", since the port went down; of "armed", since all would be connected without alternate paths."""
    before = 0 if what == "migrated" else connect_time(results, "connected", peers, "software")
    return connect_time(results, what, peers) - before


def ping(results, case, peers, mode, size=PING_BYTES):
    return results.value(test=f"pings, {case}", setting=f"{peers} {size} {mode}", x="us")


def kernel_times(results, kernel, size, mode, way):
    """(without a fault, mean with one) in us."""
    rows = {row["x"]: float(row["figure"]) for row in results.find(test=f"{kernel} {size}", setting=f"{mode} {way}")}
    whole = rows.pop("none")
    return whole, sum(rows.values()) / len(rows)


def values(results):
    found = {}
    more = [100 * (connect_time(results, "connected", peers) / connect_time(results, "connected", peers, "software") - 1)
            for peers in PEERS]
    found["connecting with alternate paths, most of all numbers of queue pairs"] = max(more)
    found["connecting with alternate paths, mean of all numbers of queue pairs"] = sum(more) / len(more)
    for what, scale in (("armed", "arm"), ("migrated", "migrate")):
        few, most = (since(results, what, peers) / peers for peers in (32, MOST_PEERS))
        found[f"time to {scale} by queue pair, of {MOST_PEERS} against 32"] = most / few
    for test, what in (("latency", "latency"), ("bw", "bandwidth")):
        curves = [results.curve("x", test=test, setting=mode) for mode in MODES]
        worst = max((100 * (curves[0][size] / curves[1][size] - 1) for size in curves[0]), key=abs)
        found[f"{what} without faults, migration against none, worst of all sizes"] = worst
    for kernel, size in KERNELS:
        with_it, without = (kernel_times(results, kernel, size, mode, "pulled")[0] for mode in MODES)
        found[f"{kernel.upper()} {size.upper()} without faults, migration against none"] = 100 * (with_it / without - 1)
    for kernel, size in (("ft", "a"), ("lu", "a")):
        without = kernel_times(results, kernel, size, "software", "pulled")[0]
        for mode in MODES:
            pulled = kernel_times(results, kernel, size, mode, "pulled")[1]
            found[f"{kernel.upper()} A with a pulled cable, {mode}, of communication alone"] = 100 * (pulled / without - 1)
    lost = kernel_times(results, "lu", "a", "migration", "pulled")[1] - kernel_times(results, "lu", "a", "software", "pulled")[0]
    found["LU with a pulled cable, time lost, of the paper's 256 s"] = 100 * lost / 1e6 / PROGRAM_OF_LU_SECONDS
    return found


# Figures.


def curve(style, label, found, dashed=False):
    return Series(style, label, [(x, y, y, y) for x, y in found.items()], dashed)


def drawn(title, curves, x, y, unit):
    chart = line_chart(title, curves, x, y, unit=unit)
    return Figure(chart, title, [(each.style, each.label, each.dashed) for each in curves])


def counts_axis(label, counts):
    axis = log_axis(label, counts)
    axis.low, axis.high = min(counts), max(counts)
    axis.ticks = [(count, str(count)) for count in counts]
    return axis


def connect_section(results):
    def times(what, mode="migration"):
        return {peers: connect_time(results, what, peers, mode) / 1e3 for peers in PEERS}
    ready = [curve("mpich", "original", times("connected", "software")),
             curve("hawser", "with alternate paths", times("connected")),
             curve("hawser-2", "until all are armed", times("armed"))]
    moved = [curve("hawser-2", "Migrated-Armed", {peers: since(results, "armed", peers) / 1e3 for peers in PEERS}),
             curve("hawser", "Armed-Migrated", {peers: since(results, "migrated", peers) / 1e3 for peers in PEERS})]
    figures = [drawn("Figures 9.4 and 9.5: until all peers are connected", ready, counts_axis("queue pairs of the port", PEERS),
                     linear_axis("ms", max(y for each in ready for _, y, _, _ in each.points)), "ms"),
               drawn("Figures 9.6 and 9.7: transitions", moved, counts_axis("queue pairs of the port", PEERS),
                     log_axis("ms", [y for each in moved for _, y, _, _ in each.points]), "ms")]
    more = [100 * (connect_time(results, "connected", peers) / connect_time(results, "connected", peers, "software") - 1)
            for peers in PEERS]
    armed, migrated = (since(results, what, MOST_PEERS) / 1e3 for what in ("armed", "migrated"))
    few = since(results, "armed", 64) / 64
    seen = [f"Connecting takes {min(more):.0f} to {max(more):.0f} % longer with alternate paths. The paper's 15 % are of the "
            "call that makes a queue pair ready, which takes the alternate path along. Hawser loads it when the connection is "
            "ready: by a call of its own, two packets, and one more that arms both ends. The simulator charges this call as much "
            "as each of the four that make a queue pair (<code>--queue-pair-cost 200us</code>: 50 us each), so the figure "
            "depends on that price.",
            f"Migrating is linear in the number of queue pairs, as in the paper: {migrated:.1f} ms from the pull to the last of "
            f"{MOST_PEERS}. Arming adds {armed:.1f} ms to the time until all of them are connected, {few:.0f} us each up to 64 "
            "and more beyond 100, probably because peers ask again while rank 0 is busy. It was found by pulling the cable "
            "earlier and earlier, until not all migrated. In the paper migrating takes 16 to 30 % longer than arming. Here it is "
            "shorter, since the peers need not agree first.",
            "For few queue pairs, the time to migrate is mostly until the library looks at events of the adapter. The paper goes "
            "up to 2048 queue pairs between two processes; here each peer has one on each port, and a switch has room for 126 "
            "peers.",
            "The alternate is the other port, as in the paper. That users may choose (<code>HAWSER_RAIL_MIGRATION=2/0</code>) is "
            "shown by the tests of <code>decision/path_migration.h</code>."]
    return Section("connect", "Connecting, arming, migrating (figures 9.4 to 9.7)", seen=seen, figures=figures)


CURVES = (("original", "mpich", "none", "software"), ("Migrated-Armed", "openib", "loading", "migration"),
          ("pulled, migration", "hawser", "pulled", "migration"), ("pulled, software", "verbs", "pulled", "software"),
          ("silent, migration", "hawser-2", "silent", "migration"), ("silent, software", "ucx", "silent", "software"))


def ping_section(results):
    by_peers = [curve(style, label, {peers: ping(results, case, peers, mode) for peers in PEERS})
                for label, style, case, mode in CURVES]
    sizes = [curve(style, label, {size: ping(results, case, MOST_PEERS, mode, size) for size in SIZES})
             for label, style, case, mode in CURVES if case != "loading"]
    every = [y for each in by_peers + sizes for _, y, _, _ in each.points]
    figures = [drawn(f"Figure 9.8: {PING_BYTES} bytes", by_peers, counts_axis("queue pairs of the port", PEERS),
                     log_axis("latency, us", every), "us"),
               drawn(f"Figure 9.9: {MOST_PEERS} queue pairs", sizes, bytes_axis(SIZES), log_axis("latency, us", every), "us")]
    at = {(case, mode): ping(results, case, MOST_PEERS, mode) for _, _, case, mode in CURVES}
    silent = [ping(results, "silent", peers, "migration") * peers * 2 / 1e3 for peers in (1, MOST_PEERS)]
    loading = [ping(results, "loading", peers, "migration") for peers in (1, MOST_PEERS)]
    seen = ["Rank 0 pings its peers in turn. With a fault, a point is the mean of the first ping of each peer after it.",
            f"With {MOST_PEERS} peers, a pulled cable costs {at['pulled', 'migration']:.0f} us a ping by migration and "
            f"{at['pulled', 'software']:.0f} by software ({at['none', 'software']:.1f} without a fault): short messages gain by "
            "migration, which needs no new connection. As in the paper, the cost does not depend on the size of messages, and "
            "the mean hardly on the number of queue pairs.",
            f"If nobody is told (<i>silent</i>), all pings together take {silent[0]:.0f} ms longer with 1 peer and "
            f"{silent[1]:.0f} ms with {MOST_PEERS}, by migration and by software alike. In the paper each queue pair waits for "
            "its own adapter. Here a few of them wait for 64 ms, and the library then suspects all that share the port.",
            f"<i>Migrated-Armed</i>, pings while alternate paths are loaded: {loading[0]:.1f} us with 1 peer, {loading[1]:.1f} "
            f"with {MOST_PEERS}, over {ROUNDS - 1} rounds ({at['none', 'software']:.1f} without)."]
    return Section("pings", "Latency while queue pairs migrate (figures 9.8 and 9.9)", seen=seen, figures=figures)


def kernel_section(results):
    names = [f"{kernel.upper()}, class {size.upper()}" for kernel, size in KERNELS]
    bars = []
    cases = (("original", "mpich", "software", None), ("armed", "openib", "migration", None),
             ("pulled, migration", "hawser", "migration", "pulled"), ("pulled, software", "verbs", "software", "pulled"),
             ("silent, migration", "hawser-2", "migration", "silent"), ("silent, software", "ucx", "software", "silent"))
    for label, style, mode, way in cases:
        found = []
        for (kernel, size), (_, ways) in KERNELS.items():
            original = kernel_times(results, kernel, size, "software", "pulled")[0]
            time = (kernel_times(results, kernel, size, mode, way or "pulled")[0 if way is None else 1]
                    if way is None or way in ways else None)
            found.append(None if time is None else (time / original,) * 3)
        bars.append((style, label, found))
    shown = [each[0] for _, _, found in bars for each in found if each]
    chart = bar_chart("kernels with a pulled cable", names, bars, "4 hosts, 2 ranks each",
                      log_axis("communication, of original", [0.95, *shown]))
    keys = [(style, label, "bar") for style, label, _ in bars]
    return Section("apm-kernels", "Kernels with a pulled cable (figures 9.12 to 9.15)", seen=seen_of_kernels(results),
                   figures=[Figure(chart, "Figures 9.12 to 9.15", keys)])


def seen_of_kernels(results):
    def lost(kernel, size, way):
        """Of each mode, in ms: mean."""
        original = kernel_times(results, kernel, size, "software", "pulled")[0]
        return [(kernel_times(results, kernel, size, mode, way)[1] - original) / 1e3 for mode in MODES]

    def told(way):
        each = ((f"{kernel.upper()} {size.upper()}", lost(kernel, size, way)) for (kernel, size), (_, ways) in KERNELS.items()
                if way in ways)
        return "; ".join(f"{name} {by_migration:.1f} and {by_software:.1f}" for name, (by_migration, by_software) in each)
    return [f"A pulled cable costs in the mean of all points, in ms, by migration and by software: {told('pulled')}. If nobody "
            f"is told: {told('silent')}.",
            "The end whose cable is pulled migrates at once and tells the peer's adapter, so migration costs no more than "
            "failover in software. (Until November 26 it told nobody, and FT of class A lost 70 %.) See <i>A port of two "
            "fails</i>.",
            "Without faults, alternate paths cost nothing, as in the paper. Bars are of communication alone, since computing "
            "takes no time in the simulator; the paper's are of whole programs. Its LU takes 256 s, of which the time lost here "
            "is less than a thousandth; LU and FT lose 5 to 7 % there.",
            "Class B (figures 9.13 to 9.15) is not reproduced, because the kernels have classes S, W and A. Several queue pairs "
            "for each pair of processes are not shown either: Hawser takes as many as it needs."]


def computing_section():
    return Section("apm-computing", "Computing while queue pairs migrate (figures 9.10 and 9.11)", seen=[
        "Not reproduced. The figures show the processor time that the asynchronous thread takes from a program that computes. "
        "The simulator has no threads and charges no time for asynchronous events. By default Hawser has no such thread: events "
        "wait until the next call of MPI, and computing loses nothing. With <code>HAWSER_PROGRESS=interrupt</code> its thread "
        "serves them, which the simulator's campaign tests."])


def sections(results):
    return [connect_section(results), ping_section(results), computing_section(), kernel_section(results)]
