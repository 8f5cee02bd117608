"""report.py pause, degraded, under-fire: streams and all-to-alls while things fail."""
import random
import re
import subprocess
import time

from shared import HERE, PATIENCE, Failed, Stream, median, monotonic, percentile, processes

MS = 1_000_000  # ns
TWO_RAILS = ("two-switch", "--hosts", "2", "--rails", "2", "--rate", "200MB/s")
# The receiver (n1) moves the data, by RDMA read: its port is the local one. Kind: the fault, what heals it, the criterion
# in ms for the whole pause, which is from the fault to the first byte reissued.
KINDS = {
    "local": ("local port down", "link n1/hw{} down", "link n1/hw{} up", 5),
    "remote": ("remote port down", "link n0/hw{} down", "link n0/hw{} up", 100),
    "switch": ("switch dead", "switch switch{} dead", "switch switch{} alive", 100),
    "blackhole": ("black hole", "link n0/hw{} blackhole both", "link n0/hw{} clear", 100),
}
# A path that fails again soon is held down, each time longer (10 s at most): a new job after so many.
FAULTS_OF_A_JOB = 10


def first_after(events, wanted, begin, end):
    return min((at for at, facts in events if begin <= at < end and wanted(facts)), default=None)


# What goes on meanwhile: how it is called, the bytes of one, how many are under way, and the criterion in ms for the time from
# detection until the next one has arrived.
TRAFFIC = {
    "messages": ("stream of 64 KiB, 16 under way", {"bytes_": 65536, "window": 16}, None),
    "puts": ("puts of 8 KiB, each with a flush", {"bytes_": 8192, "window": 1, "puts": True}, 5),
}


def pauses_of_a_job(fabric, traffic, down, up, count):
    """[(detection, reissue after it or None, longest gap, end of the gap it falls into after it)] in ms of `count` faults in a row
    on alternating rails, and how exactly the faults' times are known."""
    stream = Stream(fabric, gap_us=200, **TRAFFIC[traffic][1])
    if not stream.logs.all_ready(2):
        raise Failed("the rails do not become ready")
    first = len(fabric.injected)
    rails = []
    for turn in range(count):
        time.sleep(0.05)  # the stream runs
        rail = turn % 2
        rails.append(rail)
        fault = fabric.fault(down.format(rail))
        begin = fabric.injected[fault][0]

        def failed(events, begin=begin, rail=rail):
            return all(any(at > begin and facts.get("condition") in ("stopping", "fencing", "failed")
                           and facts["port"].startswith(f"hw{rail}/") for at, facts in each) for each in events)
        if not stream.logs.wait(failed, 20):
            raise Failed(f"`{down.format(rail)}` was not noticed by both ends within 20 s")
        time.sleep(0.05)  # traffic goes on over the other rail
        fabric.fault(up.format(rail))
        if not stream.logs.all_ready(2):
            raise Failed(f"the rail is not used again 60 s after `{up.format(rail)}`")
    gaps, _ = stream.end()
    times, exactness = fabric.fault_times()
    found = []
    for turn, rail in enumerate(rails):
        at, healed = times[first + 2 * turn], times[first + 2 * turn + 1]
        events = [event for each in stream.logs.events for event in each]
        begin = at - exactness
        noticed = first_after(events, lambda f, r=rail: f.get("condition") == "stopping" and f["port"].startswith(f"hw{r}/"),
                              begin, healed)
        if noticed is None:
            raise Failed("a failure without an entry in the event log")
        reissued = first_after(events, lambda f: f.get("event") == "reissued", noticed, healed)
        longest = max((b - a for a, b in gaps if b > begin and a < healed), default=0)
        goes_on = max((b - noticed for a, b in gaps if a < noticed < b), default=0)
        found.append((max(0, noticed - at) / MS, None if reissued is None else (reissued - noticed) / MS, longest / MS, goes_on / MS))
    return found, exactness / MS


def pause(options, report, testbed):
    for traffic in options.traffic:
        pause_of(traffic, options, report, testbed)


def pause_of(traffic, options, report, testbed):
    report.head(f"{TRAFFIC[traffic][0]}, 2 rails of 200 MB/s, {options.faults} faults each: ms, p50 / p99")
    for kind in options.kinds:
        label, down, up, limit = KINDS[kind]
        if traffic == "puts":  # which n0 moves
            down, up = (re.sub("n([01])/", lambda host: f"n{1 - int(host[1])}/", text) for text in (down, up))
        found, exactness, lags = [], 0, []
        while len(found) < options.faults:
            with testbed.fabric(*TWO_RAILS) as fabric:
                more, inexact = pauses_of_a_job(fabric, traffic, down, up,
                                                min(FAULTS_OF_A_JOB, options.faults - len(found)))
                lags.append(fabric.lag())
            found += more
            exactness = max(exactness, inexact)
        whole = [noticed + (reissue or 0) for noticed, reissue, *_ in found]
        reissues = [reissue for _, reissue, *_ in found if reissue is not None]

        def both(values):
            return f"{percentile(values, .5):.2f} / {percentile(values, .99):.2f}" if values else "none"
        report.keep("pauses", {"traffic": traffic, "kind": kind, "label": label, "fault": down, "limit_ms": limit, "exactness_ms": exactness,
                               "detection_ms": [noticed for noticed, *_ in found], "reissue_ms": reissues, "whole_ms": whole,
                               "gap_ms": [gap for _, _, gap, _ in found], "goes_on_ms": [each for *_, each in found]})
        print(f"{label} (times of faults known to {exactness:.2f} ms; {len(whole)} of {len(found)} had something to reissue)")
        report.row("fault to detection", both([noticed for noticed, *_ in found]))
        report.row("detection to first reissued byte", both(reissues))
        soon, goes_on, gaps = TRAFFIC[traffic][2], [each for *_, each in found], [gap for _, _, gap, _ in found]
        if traffic == "puts":  # one under way keeps to one rail: what the other does not carry does not show that it is lost
            report.row("whole, if the rail carries puts", both(whole))
            report.row("longest gap of the stream, of each fault", both(gaps), f"p99 <= {limit} ms", percentile(gaps, .99) <= limit)
        else:
            report.row("whole", both(whole), f"p99 <= {limit} ms", percentile(whole, .99) <= limit)
            report.row("longest gap of the stream, of each fault", both(gaps))
        if soon is not None:
            report.row("detection until the next one arrives", both(goes_on), f"p99 <= {soon} ms", percentile(goes_on, .99) <= soon)
    print(f"fabric's lag, last: {lags[-1]}")


def settle(bins, begin, wanted):
    """Milliseconds from `begin` until the end of the first whole 100 ms with `wanted` bytes, such that the half second from
    there on has them on average, too."""
    after = [(at, count) for at, count in bins if at >= begin]
    for i, (at, count) in enumerate(after):
        window = [each for _, each in after[i:i + 5]]
        if count >= wanted and sum(window) >= wanted * len(window):
            return (at + 100 * MS - begin) / MS
    return None


def degraded_run(testbed):
    """(bins, when slow, when healed), with 3 s before, 4 s slow, 5 s after."""
    with testbed.fabric(*TWO_RAILS) as fabric:
        stream = Stream(fabric, 1 << 20, 8)
        if not stream.logs.all_ready(2):
            raise Failed("the rails do not become ready")
        time.sleep(3)
        fabric.fault("link n0/hw0 rate 10%")
        time.sleep(4)
        fabric.fault("link n0/hw0 rate 100%")
        time.sleep(5)
        _, bins = stream.end()
        (slow, healed), _ = fabric.fault_times()
        return bins, slow, healed


def degraded(options, report, testbed):
    report.head("stream of 1 MiB, 8 under way, rails of 200 MB/s, one at 10 % for 4 s")
    adapted, recovered = [], []
    for _ in range(options.runs):
        bins, slow, healed = degraded_run(testbed)
        if not options.quiet:
            for at, count in bins:
                note = "  <- one rail to 10 %" if 0 <= slow - at < 100 * MS else "  <- full rate" if 0 <= healed - at < 100 * MS else ""
                print(f"    {(at - slow) / 1e9:6.1f} s {count / 1e5:7.1f} MB/s{note}")
        before = median([count for at, count in bins if at < slow - 100 * MS][-20:])
        left = before * 220 / 400
        adapted.append(settle([b for b in bins if b[0] < healed - 100 * MS], slow, 0.9 * left))
        recovered.append(settle([b for b in bins if b[0] >= slow], healed, 0.9 * before))
        report.keep("degraded", {"bins": bins, "slow": slow, "healed": healed, "before": before / 1e5, "left": left / 1e5,
                                 "adapted_ms": adapted[-1], "recovered_ms": recovered[-1]})
        print(f"  before {before / 1e5:.1f} MB/s; 90 % of what is left after {adapted[-1] or -1:.0f} ms; of all after {recovered[-1] or -1:.0f} ms (-1: never)")
    for label, found, limit in (("one rail slow: until >= 90 % of what is left", adapted, 1000),
                                ("full rate again: until >= 90 % of all", recovered, 2000)):
        missing = [each for each in found if each is None]
        value = float("inf") if len(missing) * 2 > len(found) else median([each if each is not None else float("inf") for each in found])
        report.row(label, f"{value:.0f} ms", f"<= {limit} ms", value <= limit)


class Fire:
    """Links that flap at random while a job runs; what is still to be healed, when."""

    def __init__(self, fabric, job, seed):
        self.fabric = fabric
        self.job = job
        self.random = random.Random(seed)
        self.down = {}  # (host, rail): until
        self.count = 0
        self.blackouts = 0

    def alive(self):
        if self.job.poll() is not None:
            raise Failed(f"the job has ended with {self.job.returncode}:\n{self.job.stdout.read()}")

    def heal(self, now):
        for (host, rail), until in sorted(self.down.items(), key=lambda item: item[1]):
            if until <= now:
                self.fabric.fault(f"link n{host}/hw{rail} up")
                del self.down[host, rail]

    def strike(self, now):
        host = self.random.randrange(4)
        dark = self.random.random() < 0.05
        rails = (0, 1) if dark else (self.random.randrange(2),)
        self.blackouts += dark
        for rail in rails:
            if (host, rail) not in self.down:
                self.fabric.fault(f"link n{host}/hw{rail} down")
                self.count += 1
            self.down[host, rail] = now + (2 if dark else self.random.uniform(0.01, 0.5))

    def flap(self, seconds, least):
        """Spreads at least so many faults over the time."""
        begin = time.monotonic()
        pace = seconds / max(least, 1) * 0.8
        following = begin
        while time.monotonic() < begin + seconds or self.count < least:
            self.alive()
            now = time.monotonic()
            self.heal(now)
            if now >= following:
                self.strike(now)
                following += pace * self.random.uniform(0.5, 1.5)
            time.sleep(0.003)
        for host, rail in list(self.down):
            self.fabric.fault(f"link n{host}/hw{rail} up")
        self.down = {}


def ask(job):
    """(rounds so far, longest since the last question in ms)."""
    job.stdin.write("tell\n")
    job.stdin.flush()
    line = processes.read_line(job)
    found = re.match(r"(\d+) rounds, longest ([\d.]+) ms", line)
    if not found:
        raise Failed("the job fails: " + line + job.communicate(timeout=PATIENCE)[0])
    return int(found.group(1)), float(found.group(2))


def under_fire(options, report, testbed):
    seed = random.randrange(1 << 31) if options.seed is None else options.seed
    report.head(f"all-to-all of 8 ranks on 4 hosts with 2 rails, checked; seed {seed}")
    program = testbed.program("all_to_all", HERE / "all_to_all.c")
    with testbed.fabric("two-switch", "--hosts", "4", "--rails", "2") as fabric:
        job = fabric.mpiexec(8, program, ppn=2, stdin=subprocess.PIPE)
        rounds, _ = ask(job)
        fire = Fire(fabric, job, seed)
        begin = monotonic()
        fire.flap(options.seconds, options.faults)
        done, longest = ask(job)
        report.row(f"{fire.count} links down, {fire.blackouts} times both of a host for 2 s, {(monotonic() - begin) / 1e9:.0f} s",
                   f"{done - rounds} rounds", "goes on", done > rounds)
        report.row("  longest round", f"{longest:.0f} ms")
        for label, fault in (("an adapter dead for good", f"adapter n{fire.random.randrange(4)}/hw1 dead"),
                             ("and a switch", "switch switch1 dead")):
            before = ask(job)[0]
            fabric.fault(fault)
            rounds = longest = 0
            while rounds < before + 20:
                rounds, more = ask(job)
                longest = max(longest, more)
                time.sleep(0.01)
            report.row(f"{label} ({fault})", f"{rounds - before} rounds", "goes on", True)
            report.row("  longest round", f"{longest:.0f} ms")
        job.stdin.close()
        job.stdin = None
        output = testbed.finish(job)
        found = re.search(r"(\d+) rounds right", output)
        report.row("errors, aborts, wrong bytes", f"none, {found.group(1)} rounds right" if found else output[-200:], "none",
                   bool(found))
        print(f"  fabric's lag: {fabric.lag()}")
