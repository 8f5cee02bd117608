"""V07 10.4.4: bandwidth while a network fails and returns, partitions, and kernels whose first messages fail."""
from machine import BUS, SLOW, SLOW_LATENCY, one_network, two_networks, two_ports, with_faults
from reproduce.simulated import PACKETS, compiled
from report_page.axes import linear_axis
from report_page.charts import Series, bar_chart, line_chart
from report_page.page import Figure, Section

KERNELS = ("is", "cg", "ft", "mg", "lu")
BIN_MS = 20
FAILS, RETURNS, ENDS = 0.5, 1.0, 1.6
FIRST_BACK, SECOND_BACK, PARTITION_ENDS = 0.8, 1.2, 2.0
NETWORKS = {"InfiniBand": "n0/hw0", "Ethernet": "n0/hw1"}
DIRECTIONS = {"one way": "one", "both ways": "both"}
FAULTS = {"pulled": ("down", "up"), "silent": ("blackhole both", "clear")}
# Without datagrams, every peer is connected before the first message.
CONNECTED = {"HAWSER_RAIL_DATAGRAMS": "0"}
FIRST_MESSAGES = 60e-6  # seconds: MPI_Init is over
KERNEL_SETTINGS = ("Ethernet alone", "both networks", "InfiniBand fails", "both networks, no datagrams",
                   "InfiniBand fails, no datagrams")
PORT = "n0/hw0:1"
PORT_SETTINGS = {f"{who}, {kind}{bus}": (knob, kind, parameters) for bus, parameters in (("", BUS), (", fast bus", PACKETS))
                 for kind in FAULTS for who, knob in (("migration", "auto"), ("software", "off"))}
PORT_ENDS = 3.2


def fails(port, kind, at, until):
    down, up = FAULTS[kind]
    return [(at, f"link {port} {down}"), (until, f"link {port} {up}")]


def timeline_runs():
    for direction in DIRECTIONS:
        for setting in ("both networks", "Ethernet alone", "InfiniBand alone"):
            yield {"test": f"no fault, {direction}", "setting": setting}
        for network in NETWORKS:
            for kind in FAULTS:
                yield {"test": f"{network} fails, {direction}", "setting": kind}
    for first in NETWORKS:
        for kind in FAULTS:
            yield {"test": f"partition, {first} returns first", "setting": kind}
    for setting in PORT_SETTINGS:
        yield {"test": "a port of two fails", "setting": setting}


def runs():
    yield from timeline_runs()
    for kernel in KERNELS:
        for setting in KERNEL_SETTINGS:
            yield {"test": f"kernel {kernel}", "setting": setting}


def programs(build, folder, here):
    kernels = {name: compiled(build, [here.parent / f"kernels/{name}.c"], folder) for name in KERNELS}
    return {"flow": compiled(build, [here / "flow.c"], folder), **kernels}


def flow_rows(text):
    return [{"x": x, "figure": figure} for x, figure in (line.split() for line in text.splitlines())]


def run_timeline(build, flow, test, setting):
    cluster, faults, ends, variables = two_networks(2, 2), (), ENDS, {}
    if test.startswith("no fault"):
        if setting == "Ethernet alone":
            cluster = one_network(SLOW, SLOW_LATENCY, 2)
        elif setting == "InfiniBand alone":
            cluster = one_network("880MB/s", "1us", 2)
    elif test.startswith("partition"):
        first = next(name for name in NETWORKS if f"{name} returns first" in test)
        faults = [fault for name, port in NETWORKS.items()
                  for fault in fails(port, setting, FAILS, FIRST_BACK if name == first else SECOND_BACK)]
        ends = PARTITION_ENDS
    elif test == "a port of two fails":
        migration, kind, parameters = PORT_SETTINGS[setting]
        cluster, faults, ends = two_ports(parameters=parameters), fails(PORT, kind, FAILS, RETURNS), PORT_ENDS
        variables = {"HAWSER_RAIL_MIGRATION": migration}
    else:
        faults = fails(NETWORKS[test.split()[0]], setting, FAILS, RETURNS)
    direction = "both" if "both ways" in test else "one"
    return flow_rows(with_faults(build, cluster, 2, flow, direction, ends, BIN_MS, faults=sorted(faults), variables=variables))


def run_kernel(build, program, setting):
    """Eight hosts with Ethernet, four of which have InfiniBand, too (V07 10.4.1, figure 10.6 b)."""
    cluster = one_network(SLOW, SLOW_LATENCY, 8) if setting == "Ethernet alone" else two_networks(8, 4)
    faults = [(FIRST_MESSAGES, f"link n{host}/hw0 down") for host in range(4)] if "fails" in setting else ()
    variables = CONNECTED if "no datagrams" in setting else {}
    return [{"x": "us", "figure": with_faults(build, cluster, 8, program, "a", faults=faults, variables=variables).strip()}]


def run(build, made, test, setting):
    if test.startswith("kernel "):
        return run_kernel(build, made[test.split()[1]], setting)
    return run_timeline(build, made["flow"], test, setting)


# What came out.


def rates(results, test, setting):
    """{ms: MB/s}"""
    return {float(row["x"]): float(row["figure"]) for row in results.find(test=test, setting=setting) if row["x"] != "gap"}


def gap(results, test, setting):
    """The longest time without a message, in ms."""
    return results.value(test=test, setting=setting, x="gap")


def mean(results, test, setting, begin, end):
    found = [rate for at, rate in rates(results, test, setting).items() if begin * 1e3 <= at <= end * 1e3 - BIN_MS]
    return sum(found) / len(found)


def kernel_time(results, kernel, setting):
    return results.value(test=f"kernel {kernel}", setting=setting, x="us")


def percent(ours, other):
    return 100 * (ours / other - 1)


def values(results):
    found = {}
    for direction in DIRECTIONS:
        free = f"no fault, {direction}"
        for network, other in (("InfiniBand", "Ethernet"), ("Ethernet", "InfiniBand")):
            test = f"{network} fails, {direction}"
            alone = mean(results, free, f"{other} alone", 0.1, ENDS)
            for kind in FAULTS:
                left = mean(results, test, kind, FAILS + 0.2, RETURNS)
                found[f"{network} {kind}, {direction}: what is left, against {other} alone"] = percent(left, alone)
                back = mean(results, test, kind, RETURNS + 0.2, ENDS)
                found[f"{network} {kind}, {direction}: after its return, against no fault"] = percent(
                    back, mean(results, free, "both networks", 0.1, ENDS))
    for first in NETWORKS:
        test = f"partition, {first} returns first"
        alone = mean(results, "no fault, one way", f"{first} alone", 0.1, ENDS)
        found[f"{test}: with it, against it alone"] = percent(mean(results, test, "pulled", FIRST_BACK + 0.1, SECOND_BACK), alone)
        for kind in FAULTS:
            last = mean(results, test, kind, SECOND_BACK + 0.3, PARTITION_ENDS)
            found[f"{test}, {kind}: with both, against no fault"] = percent(
                last, mean(results, "no fault, one way", "both networks", 0.1, ENDS))
    for kernel in KERNELS:
        for end in ("", ", no datagrams"):
            found[f"{kernel.upper()} of class A, first message fails{end}: against Ethernet alone"] = percent(
                kernel_time(results, kernel, "InfiniBand fails" + end), kernel_time(results, kernel, "Ethernet alone"))
    return found


# Figures.


def points(found):
    return [(x, y, y, y) for x, y in found.items()]


def time_chart(results, title, series, most, ends):
    """`series`: (style, label, test, setting)."""
    curves = [Series(style, label, points(rates(results, test, setting))) for style, label, test, setting in series]
    chart = line_chart(title, curves, linear_axis("ms since the job began", 1e3 * ends, most=10), linear_axis("MB/s", most),
                       unit="MB/s", size=1.5, width=1120)
    return Figure(chart, title, [(each.style, each.label, each.dashed) for each in curves], wide=True)


def told(results, test):
    pulled, silent = (gap(results, test, kind) for kind in FAULTS)
    return (f"<b>{test}</b>: the longest time without a message is {pulled:.0f} ms if the cable is pulled, {silent:.0f} ms if "
            "packets vanish and nobody is told.")


def failure_section(results):
    figures, seen = [], []
    numbers = {("InfiniBand", "one way"): "10.13", ("InfiniBand", "both ways"): "10.14", ("Ethernet", "one way"): "10.15",
               ("Ethernet", "both ways"): "10.16"}
    for (network, direction), number in numbers.items():
        test = f"{network} fails, {direction}"
        series = [("mpich", "no fault", f"no fault, {direction}", "both networks"), ("hawser", "cable pulled", test, "pulled"),
                  ("hawser-2", "silent", test, "silent")]
        figures.append(time_chart(results, f"Figure {number}: {test}", series, 1200, ENDS))
        seen.append(told(results, test))
    seen.append("As in the paper, all the bandwidth of the network that is left is used, and nothing is lost or repeated: "
                "flow.c compares every word. The paper's curve falls to nothing for as long as the adapter tries again. A pulled "
                "cable is noticed at once here, because the port tells; the silent one is found after 64 ms "
                "(<code>HAWSER_RAIL_SILENCE</code>). The axis is time, not the number of the test's iteration, and the network "
                f"returns after {1e3 * (RETURNS - FAILS):.0f} ms, which the paper's figures do not show.")
    return Section("one-network-fails", "A network fails and returns (figures 10.13 to 10.16)", seen=seen, figures=figures)


def partition_section(results):
    figures, seen = [], []
    for first, number in (("InfiniBand", "10.19"), ("Ethernet", "10.20")):
        test = f"partition, {first} returns first"
        series = [("mpich", "no fault", "no fault, one way", "both networks"), ("hawser", "cables pulled", test, "pulled"),
                  ("hawser-2", "silent", test, "silent")]
        figures.append(time_chart(results, f"Figure {number}: {test}", series, 1200, PARTITION_ENDS))
        seen.append(told(results, test))
    seen.append(f"Both networks fail at {1e3 * FAILS:.0f} ms; one returns at {1e3 * FIRST_BACK:.0f} ms, the other at "
                f"{1e3 * SECOND_BACK:.0f} ms. As in the paper, the job waits, goes on with the one that returns first, and has "
                "all of the bandwidth when both are back, in either order. If the cables say nothing, the library finds out by "
                "its next attempt to connect, which comes later the longer the outage lasts.")
    return Section("partition", "Partition (figures 10.19 and 10.20)", seen=seen, figures=figures)


def kernel_section(results):
    groups = [kernel.upper() for kernel in KERNELS]
    styles = ("verbs", "mpich", "openmpi", "hawser-2", "hawser")
    bars = []
    for style, setting in zip(styles, KERNEL_SETTINGS):
        found = [kernel_time(results, kernel, setting) / kernel_time(results, kernel, "Ethernet alone") for kernel in KERNELS]
        bars.append((style, setting, [(each, each, each) for each in found]))
    chart = bar_chart("kernels whose first message fails", groups, bars, "class A, 8 ranks",
                      linear_axis("communication, of Ethernet alone", max(each[0] for _, _, found in bars for each in found)))
    times = ", ".join(f"{kernel.upper()} {kernel_time(results, kernel, 'Ethernet alone') / 1e3:.0f}" for kernel in KERNELS)
    seen = ["The paper says that kernels lose nothing against Ethernet alone if InfiniBand fails on the first message. So do "
            "they here, if peers are connected before the first message (<code>HAWSER_RAIL_DATAGRAMS=0</code>).",
            "So it is with the default, where first messages go by datagrams, over rails that the receiver has. (Until November "
            "26 they went over others as well and were lost; then CG took 38 % longer.)",
            f"Times are of communication alone (Ethernet alone, ms: {times}); the paper's bars are of whole programs, and LU is "
            "not among them."]
    return Section("first-message", "Kernels when InfiniBand fails on the first message (figures 10.17 and 10.18)", seen=seen,
                   figures=[Figure(chart, "Figures 10.17 and 10.18", [(style, label, "bar") for style, label, _ in bars])])


def port_section(results):
    styles, shown = ("hawser", "mpich", "hawser-2", "openmpi"), [name for name in PORT_SETTINGS if "fast bus" in name]
    series = [(style, setting, "a port of two fails", setting) for style, setting in zip(styles, shown)]
    figure = time_chart(results, "A port of two fails: migration against failover in software", series, 2000, PORT_ENDS)
    gaps = ", ".join(f"{setting} {gap(results, 'a port of two fails', setting):.0f}" for setting in PORT_SETTINGS)
    return Section("two-ports", "A port of two fails (not in the paper)", figures=[figure],
                   seen=[f"Longest time without a message, in ms: {gaps}. The fast bus carries both ports; the other one, 931 "
                         "MB/s in all, is the paper's.",
                         "Hawser uses both ports at once, so a port that fails costs it no peer. Where a cable is "
                         "pulled, its adapter migrates at once and tells the peer's; when the cable is back, both ports are used "
                         "again at once. A port that was silent and works again is tried after a second by migration, for nobody "
                         "is told; software, which connects anew, uses it sooner."])


def sections(results):
    return [failure_section(results), partition_section(results), kernel_section(results), port_section(results)]
