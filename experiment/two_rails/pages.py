"""The sections of the page: a figure for each of the paper's, and what is seen in it."""
from report_page.axes import bytes_axis, linear_axis, log_axis
from report_page.charts import Series, bar_chart, line_chart
from report_page.page import Figure, Section

# Rails, setting: style, label, dashed.
LOOKS = {
    (1, "default"): ("mpich", "one rail", False),
    (2, "default"): ("hawser", "two rails, default", False),
    (2, "striping"): ("openmpi", "two rails, striping", False),
    (2, "striping by reads"): ("openmpi", "two rails, striping by reads", True),
    (2, "binding"): ("ucx", "two rails, binding", False),
    (2, "round robin"): ("verbs", "two rails, round robin", False),
}
OF_MACHINE = {"adapters": "IA32, two adapters", "ports": "EM64T, two ports"}


def chart(title, series, label, unit, log=False):
    """Of series whose points are (size, figure)."""
    series = [Series(style, name, [(x, y, y, y) for x, y in points.items()], dashed) for style, name, dashed, points in series]
    sizes = [point[0] for each in series for point in each.points]
    figures = [point[1] for each in series for point in each.points]
    axis = log_axis(label, figures) if log else linear_axis(label, max(figures))
    svg = line_chart(title, series, bytes_axis([int(min(sizes)), int(max(sizes))]), axis, unit=unit)
    return Figure(svg, title, [(each.style, each.label, each.dashed) for each in series])


def curves(experiment, title, test, machine="adapters", time=False):
    """One rail, and two with all settings that were run."""
    found = [(*look, experiment.curve(test, rails, setting, machine)) for (rails, setting), look in LOOKS.items()]
    label, unit = ("time, us", "us") if time else ("bandwidth, MB/s", "MB/s")
    return chart(title, [each for each in found if each[-1]], label, unit, log=time)


def sections(experiment):
    return [machines(), two_sided(experiment), two_processes(experiment), collectives(experiment), kernels(experiment),
            puts(experiment), gets(experiment), interleaved(experiment)]


def machines():
    return Section("two-rails-machines", "The machines of V07, chapters 4 and 5", seen=[
        "IA32 (4.3.1, 5.3.1): two adapters a node, each on a PCI-X bus of its own, one port of each at a switch. A link has"
        " 884 MB/s, the peak of one rail one way (4.3.2). The bus moves 943 MB/s in both directions together, the peak of one"
        " rail both ways (4.3.2). 2.7 us a link give the 6 us of the smallest message (4.3.2).",
        "EM64T (5.3.1): one adapter with two ports on PCI Express. A link has 971 MB/s, the peak of one port (5.3.2). The bus"
        " moves 1500 MB/s each way, the peak of both ports one way (5.3.2). The latency of a link, 2 us, is ours. So what both"
        " ports reach one way is put in, and the figures show that Hawser reaches it.",
        "A request and a completion take 250 ns of processor time each. Buffers stay registered. Computing and copying take no"
        " time.",
        "Figures 4.1, 4.2, 5.1 to 5.3, 5.14 and 5.15 are drawings of the design and have no numbers.",
        "Striping is the paper's setting: equal stripes, written by the sender. Hawser's default divides messages by the time"
        " at which rails are free, and the receiver reads them."])


def two_sided(experiment):
    small = {setting: experiment.curve("small one way", 2, setting) for setting in ("default", "round robin")}
    striping = {name: experiment.curve("one way", 2, name)[1 << 20] for name in ("striping", "striping by reads")}
    late, chosen = (experiment.results.value("late", machine="adapters", test="small one way", rails=2, setting=setting, bytes=1024)
                    for setting in ("round robin", "default"))
    return Section("two-rails-messages", "Messages between two processes", seen=[
        "Agrees: two rails have twice the bandwidth of one in both tests, half the time of a large message, and the same time"
        " for a small one.",
        f"Better, figure 4.4: windows of messages up to 4 KiB take both rails, by default ({small['default'][4096]:.0f} MB/s for"
        f" 4 KiB) nearly as much as by round robin ({small['round robin'][4096]:.0f}). The paper gains only a little by round"
        " robin; probably its processors needed more time for a message than the link. By default the other rail is taken"
        " where a message would wait 20 us.",
        f"Of the packets sent in turn {late:.0f} % wait for an earlier one, by default up to {chosen:.0f} %, which costs nothing"
        " in these tests. In ping-pong none does.",
        f"Striping by reads is a defect: windows of 1 MiB get {striping['striping by reads']:.0f} MB/s, written ones"
        f" {striping['striping']:.0f}. Of a stripe for which a rail has no room now, the rest is divided over both rails again,"
        " so the rail that has room ends up with most. The default does not suffer from it."], figures=[
            curves(experiment, "Figure 4.3: latency", "latency", time=True),
            curves(experiment, "Figure 4.4: windows of 64 small messages, one way", "small one way"),
            curves(experiment, "Figure 4.5: windows of 64 messages, one way", "one way"),
            curves(experiment, "Figure 4.6: both ways", "both ways")])


def two_processes(experiment):
    two = {setting: experiment.curve("pairs one way", 2, setting)[2048] for setting in ("default", "binding")}
    return Section("two-rails-smp", "Two processes on each of two nodes", seen=[
        "Agrees, 4.7: the senders are on different nodes, so binding uses each adapter in one direction, and striping both"
        " adapters in both. That makes 6 % with a bus that moves one direction at a time. The paper's text does not say how"
        " much it was there.",
        "Agrees, 4.8: both ways, striping, binding and the default are within 2 % of each other for large messages.",
        f"Short messages take both adapters by default, too ({two['default']:.0f} MB/s for 2 KiB; binding"
        f" {two['binding']:.0f})."], figures=[
            curves(experiment, "Figure 4.7: one way, senders on different nodes", "pairs one way"),
            curves(experiment, "Figure 4.8: both ways", "pairs both ways")])


def collectives(experiment):
    shapes = ((9, "broadcast", 8), (10, "all-to-all", 8), (11, "broadcast", 16), (12, "all-to-all", 16))
    return Section("two-rails-collectives", "Broadcast and all-to-all on 8 nodes", seen=[
        "Agrees: two rails take about half the time for large messages. The paper gives no numbers in its text.",
        "Messages within a node cross no wire here and cost little. The paper's went through the adapter (\"loopback\", 4.3),"
        " so its figures of 16 processes are not ours in microseconds."], figures=[
            curves(experiment, f"Figure 4.{number}: {name}, {ranks} processes", f"{name}, {ranks}", time=True)
            for number, name, ranks in shapes])


def kernels(experiment):
    figures = []
    for number, ranks in ((13, 8), (14, 16)):
        groups = [("IS", f"is, {ranks}"), ("FT", f"ft, {ranks}")]
        series = [(LOOKS[key][0], LOOKS[key][1], [3 * (experiment.curve(test, *key)[0] / 1000,) for _, test in groups])
                  for key in ((1, "default"), (2, "default"), (2, "striping"))]
        most = max(each[0] for _, _, found in series for each in found)
        title = f"Figure 4.{number}: communication, class A, {ranks} processes"
        svg = bar_chart(title, [name for name, _ in groups], series, "kernel", linear_axis("time, ms", most))
        figures.append(Figure(svg, title, [(style, label, "bar") for style, label, _ in series]))
    return Section("two-rails-kernels", "Applications on 8 nodes", seen=[
        "Agrees, or better: FT's communication takes about half the time, as in the paper. IS gains more than the paper's 38"
        " %: our kernel moves the same keys, but copies and counting take no time, and processes arrive together.",
        "Kernels of our own that communicate as NAS IS and FT do (experiment/kernels), on this machine. Times are of"
        " communication alone, since computing takes no time in the simulator; so the paper's running times (IS -22 %) have no"
        " counterpart here.",
        "Not reproduced: class B, which our kernels do not have; and the visualization application, which is not public."],
        figures=figures)


def of_machines(experiment, test, what, numbers, time=False):
    return [curves(experiment, f"Figure 5.{number}: {what}, {OF_MACHINE[machine]}", test, machine, time)
            for machine, number in zip(OF_MACHINE, numbers)]


def puts(experiment):
    values = experiment.values()
    early = {size: experiment.gain("one way", size) for size in (2048, 4096)}
    return Section("two-rails-put", "Puts", seen=[
        "Agrees: bandwidth and latency of large puts on both machines.",
        "Agrees, 5.2.3: puts gain earlier than messages. In windows of 2 KiB they gain"
        f" {values['puts of 2 KiB in windows, two adapters over one']:.0f} %, messages {early[2048]:.0f} % (4 KiB:"
        f" {early[4096]:.0f} %): small puts take rails in turn, stripes of puts may be 4 KiB, and no handshake comes before"
        " them. A single put gains from 8 KiB on.",
        f"Better than the paper, 5.7: two ports reach {values['put both ways, two ports over one']:+.0f} %, the paper 37. Its"
        " bus had another limit for both directions together (2620 MB/s), which the model of a full-duplex bus does not have.",
        "The paper's drop at 16 KB (5.6) came from its switchover threshold and is not there."],
        figures=[*of_machines(experiment, "put one way", "puts, 64 in a window", (4, 5)),
                 *of_machines(experiment, "put both ways", "puts both ways, 16 in a window", (6, 7)),
                 *of_machines(experiment, "put", "a put and its flush", (8, 9), time=True)])


def gets(experiment):
    return Section("two-rails-get", "Gets", seen=[
        "Agrees: bandwidth and latency on both machines. Two adapters have all of the sum here; the paper had 97 %."],
        figures=[*of_machines(experiment, "get one way", "gets, 64 in a window", (10, 11)),
                 *of_machines(experiment, "get", "a get and its flush", (12, 13), time=True)])


def interleaved(experiment):
    def all_of(machine, number):
        kinds = (("ordered", "puts, then gets", "verbs"), ("reordered", "in one epoch, default", "hawser"),
                 ("turns", "in turn", "ucx"))
        series = [(style, f"{count}: {name}", rails == 1, experiment.curve(test, rails, machine=machine))
                  for rails, count in ((1, "one rail"), (2, "two")) for test, name, style in kinds]
        return chart(f"Figure 5.{number}: 16 puts and 16 gets, {OF_MACHINE[machine]}", series, "throughput, MB/s", "MB/s")
    one, turns = (experiment.curve(test, 1, machine="ports") for test in ("reordered", "turns"))
    return Section("two-rails-interleaved", "Puts and gets together", seen=[
        "The process puts 16 times and then gets 16 times. \"Puts, then gets\" flushes between them, which stands for a"
        " library that keeps the order. \"In turn\" is a program that puts and gets in turn, 32 of them always under way.",
        "Agrees for programs that take turns: both directions are busy from 4 KiB on, and one port has twice the throughput.",
        f"Does not agree, a defect of the default: where all puts are called before the gets, one port makes {one[65536]:.0f}"
        f" MB/s of 64 KiB and {one[1 << 20]:.0f} of 1 MiB ({turns[65536]:.0f} and {turns[1 << 20]:.0f} in turn; paper: 1900)."
        " Puts are posted when they are called, and as long as no get is known as many as there are. Gets stand behind them in"
        " the same queue pairs. The paper's library keeps all operations back until the epoch ends, and then mixes them.",
        "On two PCI-X buses, which move one direction at a time, little is to be gained; ours gains less than the paper for"
        " the same reason."],
        figures=[all_of(machine, number) for machine, number in (("adapters", 16), ("ports", 17))])
