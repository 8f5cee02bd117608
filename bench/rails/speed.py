"""report.py speed: Hawser's bandwidth and latency over rails beside what the rails can do, and beside Open MPI."""
import re
import subprocess

from shared import Failed, median, mpibench
from hawser_lab import open_mpi, processes
from hawser_lab.open_mpi import OPENIB, ucx

MIB = 1 << 20
RATE = 200  # MB/s of a rail
UCX = ucx("rc_v")

def perftest(fabric, command, *options):
    """The last row of what the client prints, as numbers."""
    port = processes.free_port()
    server = fabric.run_on("n0", command, "-F", "-p", port, *options)
    processes.wait_until_listens(server, port)
    output = fabric.testbed.finish(fabric.run_on("n1", command, "-F", "-p", port, *options, "localhost"))
    fabric.testbed.finish(server)
    rows = re.findall(r"^ *\d+[ \t]+\d+[ \t]+[\d. \t]+$", output, re.M)
    if not rows:
        raise Failed(output)
    return [float(word) for word in rows[-1].split()]


def verbs_rate(fabric, rail, size, both_ways, command="ib_write_bw"):
    """MB/s of perftest on one rail alone, for about half a second."""
    count = max(50, RATE * 500_000 // size)
    row = perftest(fabric, command, "-d", f"hw{rail}", "-s", size, "-n", count, *(["-b"] if both_ways else []))
    return row[3] * MIB / 1e6


def table(output):
    return {int(size): float(figure) for size, figure in re.findall(r"^(\d+) +([\d.]+)$", output, re.M)}


def hawser(fabric, *words, variables=None):
    """{size: figure} of mpibench between two hosts."""
    return table(fabric.testbed.finish(fabric.mpiexec(2, mpibench(fabric.testbed), *words, variables=variables)))


def bandwidth_words(both_ways, size, volume):
    """The options of mpibench that move about `volume` bytes in windows of 128 MiB or 512 messages: ib_write_bw
    never lets its queue run empty, and each window ends with that."""
    return ["bibw" if both_ways else "bw", "-m", f"{size}:{size}", "-V", volume]


def hawser_rate(fabric, size, both_ways=False, seconds=1.0, rails=2):
    volume = int(RATE * 1e6 * seconds * rails)
    return hawser(fabric, *bandwidth_words(both_ways, size, volume))[size]


def open_mpi_job(fabric, transport, program, *words, **how):
    """Started: two ranks of Open MPI on n0 and n1."""
    command = open_mpi.mpirun(fabric, fabric.testbed.folder, ("n0", "n1"), 2, transport, program, *words)
    return fabric.testbed.popen(command, **{"stdin": subprocess.DEVNULL, **how})


def open_mpi_table(fabric, transport, *words):
    testbed = fabric.testbed
    return table(testbed.finish(open_mpi_job(fabric, transport, mpibench(testbed, "mpicc.openmpi"), *words)))


def medians(runs, *measurements):
    """The median of each, taken in turn so that a busy machine slows all alike."""
    samples = [[measure() for measure in measurements] for _ in range(runs)]
    return [median(column) for column in zip(*samples)]


def in_turn(report, name, runs, measurements, **facts):
    """Keeps {label: [{size: figure} of each run]}; a peer that fails is told, and its label has no more runs."""
    samples, failed = {label: [] for label in measurements}, {}
    for _ in range(runs):
        for label, measure in measurements.items():
            if label in failed:
                continue
            try:
                samples[label].append(measure())
            except (Failed, OSError, subprocess.SubprocessError) as problem:
                if label == "hawser":
                    raise
                failed[label] = str(problem)[-1000:]
                report.row(label, "did not run: " + (str(problem).splitlines() or ["?"])[-1][:60])
    report.keep(name, {**facts, "samples": samples, "failed": failed})
    return {label: {size: median([taken[size] for taken in runs]) for size in runs[0]} for label, runs in samples.items() if runs}


def peers_over(fabric, words, without):
    """For in_turn: Open MPI over the fabric."""
    return {} if without else {"openib": lambda: open_mpi_table(fabric, OPENIB, *words), "ucx": lambda: open_mpi_table(fabric, UCX, *words)}


def sweep_bandwidth(options, report, testbed, rails):
    sweep = options.sizes or [4096 << 2 * k for k in range(6)]
    what = ("two-switch", "--hosts", "2", "--rails", str(rails), "--rate", f"{RATE}MB/s")
    report.head(f"{rails} rail{'s' if rails > 1 else ''} of {RATE} MB/s, one way, MB/s")
    with testbed.fabric(*what) as fabric:
        words = ("bw", "-s", ",".join(map(str, sweep)), "-V", RATE * 250_000 * rails)
        found = in_turn(report, "bandwidth", options.runs, {
            "hawser": lambda: hawser(fabric, *words),
            "verbs": lambda: {size: sum(verbs_rate(fabric, rail, size, False) for rail in range(rails)) for size in sweep},
            **peers_over(fabric, words, options.no_peers)}, rails=rails, rate=RATE, lag=fabric.lag())
    for size in sweep:
        ours, alone = found["hawser"][size], found.get("verbs", {}).get(size)
        if alone is not None:
            judged = (">= 97 %", ours >= 0.97 * alone) if size >= 256 * 1024 else ()
            report.row(f"{size // 1024} KiB: Hawser, of ib_write_bw's sum", f"{ours:.1f} of {alone:.1f}: {ours / alone:.1%}", *judged)
        for label in ("openib", "ucx"):
            if label in found:
                report.row(f"{size // 1024} KiB: Open MPI {label}", f"{found[label][size]:.1f}")


def sweep_latency(options, report, testbed):
    """Rates unlimited: what software and the fabric's daemon take."""
    sizes = [8 << 2 * k for k in range(8)]
    report.head("latency over two rails, rates unlimited, us")

    def verbs(fabric, size):
        return perftest(fabric, "ib_send_lat", "-d", "hw0", "-s", size, "-n", 1000)[5]
    with testbed.fabric("two-switch", "--hosts", "2", "--rails", "2") as fabric:
        words = ("latency", "-s", ",".join(map(str, sizes)), "-i", 1000, "-x", 100)
        found = in_turn(report, "latency", options.runs, {
            "hawser": lambda: hawser(fabric, *words), "verbs": lambda: {size: verbs(fabric, size) for size in sizes},
            **peers_over(fabric, words, options.no_peers)})
    for size in sizes:
        report.row(f"{size} B", ", ".join(f"{label} {figures[size]:.1f}" for label, figures in found.items()))


def sizes(options, report, testbed):
    for rails in options.rails:
        sweep_bandwidth(options, report, testbed, rails)
    sweep_latency(options, report, testbed)


def peers(options, report, fabric, label, words, size):
    if options.no_peers:
        return
    for name, transport in (("Open MPI openib", OPENIB), ("Open MPI UCX rc_v", UCX)):
        try:
            report.row(f"{label}, {name}", f"{median([open_mpi_table(fabric, transport, *words)[size] for _ in range(options.runs)]):.1f}")
        except (Failed, OSError, subprocess.SubprocessError, KeyError) as problem:
            report.row(f"{label}, {name}", "did not run: " + (str(problem).splitlines() or ["?"])[-1][:60])


def equal_rails(options, report, testbed, rails):
    report.head(f"{rails} rails of {RATE} MB/s, MB/s")
    with testbed.fabric("two-switch", "--hosts", "2", "--rails", str(rails), "--rate", f"{RATE}MB/s") as fabric:
        for both_ways in (False, True):
            for size in (256 * 1024, MIB):
                ours, *alone = medians(options.runs, lambda: hawser_rate(fabric, size, both_ways, rails=rails),
                                       *[lambda r=rail: verbs_rate(fabric, r, size, both_ways) for rail in range(rails)])
                report.row(f"{size // 1024} KiB {'both ways' if both_ways else 'one way'}: Hawser, of ib_write_bw's sum",
                           f"{ours:.1f} of {sum(alone):.1f}: {ours / sum(alone):.1%}", ">= 97 %", ours >= 0.97 * sum(alone))
        if rails == 2:
            peers(options, report, fabric, "1024 KiB one way", bandwidth_words(False, MIB, RATE * 1_000_000), MIB)
        print(f"  fabric's lag: {fabric.lag()}")


def unlike_rails(options, report, testbed):
    """The slow rail is slowed by a fault, so that its nominal rate says nothing and Hawser must measure."""
    sizes = options.sizes or [4096 << k for k in range(0, 11)]
    what = ("two-switch", "--hosts", "2", "--rate", f"{RATE}MB/s")
    report.head(f"rails of {RATE} and {RATE // 10} MB/s (fault `link n0/hw1 rate 10%`, the nominal rates alike), MB/s")
    ours = {size: [] for size in sizes}
    alone = {size: [] for size in sizes}
    totals = []
    for _ in range(options.runs):
        with testbed.fabric(*what, "--rails", "1") as fabric:
            for size in sizes:
                alone[size].append(hawser_rate(fabric, size, seconds=0.3))
        with testbed.fabric(*what, "--rails", "2") as fabric:
            fabric.fault("link n0/hw1 rate 10%")
            totals.append(sum(verbs_rate(fabric, rail, MIB, False) for rail in (0, 1)))
            for size in sizes:
                ours[size].append(hawser_rate(fabric, size, seconds=0.6))
    report.keep("unlike", {"rates": [RATE, RATE / 10], "totals": totals, "both": ours, "alone": alone})
    total = median(totals)
    for size in sizes:
        found, fast = median(ours[size]), median(alone[size])
        # A point below is the clock's and the scheduler's noise.
        report.row(f"{size // 1024} KiB: both rails, against the fast one alone", f"{found:.1f}, {fast:.1f}: {found / fast:.1%}",
                   "never less (99 %)", found >= 0.99 * fast)
    for size in [size for size in (MIB, 4 * MIB) if size in sizes]:
        found = median(ours[size])
        report.row(f"{size // 1024} KiB: of ib_write_bw's sum", f"{found:.1f} of {total:.1f}: {found / total:.1%}", ">= 95 %",
                   found >= 0.95 * total)


def latencies(options, report, testbed):
    report.head("latency, us")
    what = ("two-switch", "--hosts", "2", "--rate", f"{RATE}MB/s")
    for size in (MIB, 4 * MIB):
        words = ("latency", "-m", f"{size}:{size}", "-i", 20, "-x", 5)
        found = {}
        for rails in (1, 2):
            with testbed.fabric(*what, "--rails", str(rails)) as fabric:
                found[rails] = median([hawser(fabric, *words)[size] for _ in range(options.runs)])
        report.row(f"{size // MIB} MiB, two rails against one", f"{found[2]:.0f}, {found[1]:.0f}: {found[2] / found[1]:.3f}",
                   "half (<= 0.52)", found[2] <= 0.52 * found[1])
    with testbed.fabric("two-switch", "--hosts", "2", "--rails", "2") as fabric:
        words = ("latency", "-m", "8:8", "-i", 3000, "-x", 300)
        rows = []
        ours = []
        for _ in range(options.runs):
            rows.append(perftest(fabric, "ib_send_lat", "-d", "hw0", "-s", 8, "-n", 3000))
            ours.append(hawser(fabric, *words)[8])
        theirs, typical = median([row[5] for row in rows]), median([row[4] for row in rows])
        report.row("8 B, rates unlimited: Hawser against ib_send_lat, means", f"{median(ours):.1f}, {theirs:.1f}: {median(ours) / theirs:.2f}",
                   "<= 1.3", median(ours) <= 1.3 * theirs)
        report.row("  (ib_send_lat's typical)", f"{typical:.1f}")
        peers(options, report, fabric, "8 B", words, 8)


def one_sided_rates(options, report, testbed):
    with testbed.fabric("two-switch", "--hosts", "2", "--rails", "2", "--rate", f"{RATE}MB/s") as fabric:
        for way, command in (("put", "ib_write_bw"), ("get", "ib_read_bw")):
            for size in (65536, MIB):
                # A flush empties the queue, which perftest never does: as many bytes between two as in bandwidth_words().
                window = min(512, 128 * MIB // size)
                words = (f"rma_{way}_bw", "-m", f"{size}:{size}", "-W", window, "-i", 400 * MIB // (window * size) + 1, "-x", 1)
                found, total = medians(options.runs, lambda words=words, size=size: hawser(fabric, *words)[size],
                                       lambda command=command, size=size: sum(verbs_rate(fabric, rail, size, False, command)
                                                                              for rail in (0, 1)))
                report.row(f"{way} of {size // 1024} KiB, of {command}'s sum",
                           f"{found:.1f} of {total:.1f}: {found / total:.1%}", ">= 98 %", found >= 0.98 * total)


def one_sided(options, report, testbed):
    """Puts and gets of MPI's windows. What perftest writes is there half a round trip later, which nobody waits for;
    a flush needs the answer to a read."""
    report.head("one-sided operations over two rails")
    one_sided_rates(options, report, testbed)
    with testbed.fabric("two-switch", "--hosts", "2", "--rails", "2") as fabric:
        words = ("-m", "8:8", "-i", 20000, "-x", 1000, "-f")
        typical = 4  # perftest's median

        def perftest_median(command):
            return perftest(fabric, command, "-d", "hw0", "-s", 8, "-n", 20000)[typical]
        put, get, write, read = medians(
            options.runs, lambda: hawser(fabric, "rma_put", *words)[8], lambda: hawser(fabric, "rma_get", *words)[8],
            lambda: perftest_median("ib_write_lat"), lambda: perftest_median("ib_read_lat"))
        report.row("put of 8 B and flush: ib_write_lat + ib_read_lat, us",
                   f"{put:.1f}, {write:.1f} + {read:.1f}: {put / (write + read):.2f}", "<= 1.15", put <= 1.15 * (write + read))
        report.row("get of 8 B and flush: ib_read_lat, us", f"{get:.1f}, {read:.1f}: {get / read:.2f}")


def speed(options, report, testbed):
    parts = {"sizes": lambda: sizes(options, report, testbed), "2": lambda: equal_rails(options, report, testbed, 2),
             "4": lambda: equal_rails(options, report, testbed, 4), "unlike": lambda: unlike_rails(options, report, testbed),
             "latency": lambda: latencies(options, report, testbed), "one-sided": lambda: one_sided(options, report, testbed)}
    for part in options.parts:
        parts[part]()
