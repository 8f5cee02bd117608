"""report.py cost: the knob rail_failover off against on."""
import re
import subprocess

from speed import MIB, RATE, bandwidth_words
from shared import PATIENCE, Failed, median, mpibench

MESSAGES = 4000  # of test/rails/rail_cost_main.cpp


def instructions(testbed, failover):
    """Of one 8-byte message, from send to receive, all of the rails' code at both ends. The program runs in virtual time, so
    the count is the same every time."""
    program = testbed.bin.parent / "bench/rail_cost"
    if not program.exists():
        raise Failed(f"{program} is not built (target rail_cost)")
    file = testbed.folder / f"callgrind.{failover}"
    done = subprocess.run(["valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={file}",
                           "--toggle-collect=hawser::RailChannel::*", str(program), failover], capture_output=True, text=True,
                          timeout=5 * PATIENCE)
    if done.returncode != 0:
        raise Failed(f"rail_cost {failover}: {done.returncode}\n{done.stderr}")
    return int(re.search(r"^(?:totals|summary): (\d+)", file.read_text(), re.M).group(1)) / MESSAGES


def cost(options, report, testbed):
    report.head("knob rail_failover on against off. It decides what a failure does; what is kept for it is kept either way")
    on, off = instructions(testbed, "on"), instructions(testbed, "off")
    if min(on, off) < 100:
        raise Failed("callgrind counted nothing")
    report.row("instructions per 8-byte message, both ends", f"{on:.0f}, {off:.0f}: {on / off - 1:+.2%}", "<= 1 %", on <= 1.01 * off)
    for what, label in ((("--rate", f"{RATE}MB/s"), f"1 MiB, 2 rails of {RATE} MB/s, MB/s"), ((), "1 MiB, 2 rails unlimited, MB/s")):
        samples = {"on": [], "off": []}
        with testbed.fabric("two-switch", "--hosts", "2", "--rails", "2", *what) as fabric:
            words = bandwidth_words(False, MIB, 240_000_000 if what else 2_000_000_000)
            for _ in range(options.runs):
                for knob, found in samples.items():
                    job = fabric.mpiexec(2, mpibench(testbed), *words, variables={"HAWSER_RAIL_FAILOVER": knob})
                    output = testbed.finish(job)
                    found.append(float(re.search(rf"^{MIB} +([\d.]+)$", output, re.M).group(1)))
        on, off = median(samples["on"]), median(samples["off"])
        # Only fixed rates are exact enough to tell one per cent.
        report.row(label, f"{on:.1f}, {off:.1f}: {on / off - 1:+.2%}", ">= -1 %" if what else "", on >= 0.99 * off if what else None)
