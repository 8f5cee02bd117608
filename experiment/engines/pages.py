"""The sections of the page: a figure for each of the paper's, and what is seen in it."""
from report_page.axes import bytes_axis, linear_axis, log_axis
from report_page.charts import Series, bar_chart, line_chart
from report_page.page import Figure, Section

# Setting: style, label, dashed.
LOOKS = {
    "one queue pair": ("mpich", "one queue pair (\"original\")", False),
    "default": ("hawser", "default", False),
    "epc": ("openmpi", "EPC, 4 queue pairs", False),
    "epc, 2": ("openmpi", "EPC, 2 queue pairs", True),
    "striping": ("ucx", "striping, 4", False),
    "round robin": ("verbs", "round robin, 4", False),
    "binding": ("verbs", "binding, 4", True),
    "epc by reads": ("openmpi", "EPC by reads", True),
    "striping by reads": ("ucx", "striping by reads", True),
}
FOUR = ("one queue pair", "default", "epc", "epc, 2", "round robin")
BY_READS = ("one queue pair", "default", "epc", "striping", "epc by reads", "striping by reads")
LONG = ("one queue pair", "default", "epc", "striping", "round robin", "binding")
ALL_TO_ALL = ("one queue pair", "default", "epc", "striping", "round robin")


def chart(experiment, title, test, settings, sizes, time=False):
    """`sizes`: the least and the greatest that are drawn."""
    found = [(*LOOKS[setting], experiment.curve(test, setting)) for setting in settings]
    if test == "latency" and sizes[0] > 1024:
        found.append(("hawser-2", "default, after a message of 4 MiB", True, experiment.curve("latency, later", "default")))
    series = [Series(style, label, [(x, y, y, y) for x, y in points.items() if sizes[0] <= x <= sizes[1]], dashed)
              for style, label, dashed, points in found]
    figures = [point[1] for each in series for point in each.points]
    label, unit = ("time, us", "us") if time else ("bandwidth, MB/s", "MB/s")
    axis = log_axis(label, figures) if time else linear_axis(label, max(figures))
    for each in series:
        each.points.sort()
    svg = line_chart(title, series, bytes_axis(sizes), axis, unit=unit)
    return Figure(svg, title, [(each.style, each.label, each.dashed) for each in series])


def sections(experiment):
    return [machine(), blocking(experiment), windows(experiment), all_to_all(experiment), kernels(experiment)]


def machine():
    return Section("engines-machine", "The machine of V07, chapter 6", seen=[
        "One port of an IBM 12x adapter in each of two nodes, four processes a node at most (6.3.1). A link has 2745 MB/s,"
        " which all engines reached together (6.3.2; 3 GB/s nominal, 2.3.1), an engine 1661 MB/s, which one queue pair reached"
        " (6.3.2). So the peak is put in, and the figures show who reaches it, and with which messages. Bus: 7.6 GB/s in both"
        " directions together (2.3.1).",
        "The number of engines is not in the paper; four, since it uses up to four queue pairs. The latency of a link, 1 us,"
        " is ours.",
        "Requests and completions take 250 ns of processor time each, buffers stay registered, copies take no time.",
        "The paper's policies write messages as the paper does (HAWSER_RAIL_RENDEZVOUS=write). The default reads them.",
        "Figure 6.1 is a drawing of the design and has no numbers."])


def blocking(experiment):
    default, later = experiment.curve("latency", "default")[65536], experiment.curve("latency, later", "default")[65536]
    striping, one = (experiment.curve("latency", name)[65536] for name in ("striping", "one queue pair"))
    two = experiment.curve("latency", "default of two engines")[1 << 20]
    return Section("engines-latency", "Ping-pong", seen=[
        "Agrees: small messages take the same time with all settings; EPC and striping take two fifths off large ones; round"
        " robin and binding use one engine for a message and gain nothing. From 128 KiB on the default is within 2 % of EPC.",
        f"Agrees: 64 KiB take {default:.1f} us by default, {one:.1f} with one queue pair and {striping:.1f} by striping. Messages"
        " of less than 32 KiB are no samples, so 8 and 16 KiB use a second engine only after longer ones"
        f" (64 KiB after 4 MiB: {later:.1f} us).",
        f"With HAWSER_RAIL_ENGINES=2 the default takes {two:.0f} us for 1 MiB."],
        figures=[chart(experiment, "Figure 6.2: latency, small messages", "latency", LONG[:-1], (1, 4096), True),
                 chart(experiment, "Figure 6.3: latency, large messages", "latency", LONG, (8192, 4 << 20), True)])


def windows(experiment):
    worst = {name: max(experiment.behind(name)) for name in ("epc", "default")}
    small = {name: experiment.curve("bw", name)[4096] for name in ("default", "epc")}
    both = {name: experiment.curve("bibw", name)[4096] for name in ("default", "epc")}
    reads = {name: experiment.curve("bw", name)[262144] for name in ("striping", "striping by reads")}
    return Section("engines-windows", "Windows of 64 messages", seen=[
        "Agrees: all engines bring 65 % more than one, one way and both ways (paper: 65 and 71 %). One engine both ways lost 7"
        " % of its rate in the paper, and loses nothing in the model. EPC and round robin gain from 1 KiB on (6.4).",
        f"Agrees: EPC is never more than {worst['epc'][0]:.0f} % slower than the better of striping and round robin, from 16"
        f" KiB on. The default is, by up to {worst['default'][0]:.0f} % ({worst['default'][1]} of {worst['default'][2] // 1024}"
        " KiB).",
        "Does not agree, 6.6: striping of 16 to 64 KiB is as good as EPC here. In the paper it was much worse, because posting"
        " a stripe and its acknowledgement cost adapter time. Our requests cost 0.25 us of the processor, and acknowledgements"
        " nothing.",
        f"Better, 6.5: both ways small messages gain as well ({both['epc']:.0f} MB/s of 4 KiB). The paper's were limited by"
        " copies, which take no time here. Four queue pairs bring no more than two, there as here. One way (6.4) the paper"
        " gained a little by four; here two engines fill the link.",
        f"Does not agree, a defect of the default: messages of up to 4 KiB stay on one queue pair ({small['default']:.0f} MB/s"
        f" of 4 KiB; EPC {small['epc']:.0f}; both ways {both['default']:.0f} and {both['epc']:.0f}).",
        f"Striping by reads is a defect: windows of 256 KiB get {reads['striping by reads']:.0f} MB/s, written ones"
        f" {reads['striping']:.0f}, since what a queue pair had no room for is divided anew. EPC stripes from 512 KiB on, and"
        " loses there."],
        figures=[chart(experiment, "Figure 6.4: small messages, one way", "bw", FOUR, (1, 8192)),
                 chart(experiment, "Figure 6.5: small messages, both ways", "bibw", FOUR, (1, 8192)),
                 chart(experiment, "Figure 6.6: large messages, one way", "bw", BY_READS, (8192, 4 << 20)),
                 chart(experiment, "Figure 6.7: large messages, both ways", "bibw", BY_READS, (8192, 4 << 20))])


def all_to_all(experiment):
    bound = 16 * 65536 / 2745
    return Section("engines-alltoall", "All-to-all of 2 x 4 processes", seen=[
        "Does not agree: nothing is to be gained. Four processes of a node have 16 queue pairs to the other node, and all"
        f" engines are busy with one queue pair a peer: 64 KiB take {experiment.curve('alltoall', 'one queue pair')[65536]:.0f}"
        f" us, and the link alone needs {bound:.0f}. Why the paper gained from several queue pairs a peer it does not say.",
        "The default takes exactly as long as one queue pair, EPC and striping 1 to 6 % more, and round robin up to 20 % more."],
        figures=[chart(experiment, "Figure 6.8: all-to-all, 2 x 4", "alltoall", ALL_TO_ALL, (1024, 1 << 20), True)])


def kernels(experiment):
    settings, figures = ("one queue pair", "default", "epc"), []
    for number, kernel in ((9, "is"), (11, "ft")):
        title = f"Figure 6.{number}: communication of {kernel.upper()}, class A"
        tests = [(f"{ranks} ({ranks // 2} a node)", f"{kernel}, {ranks}") for ranks in (2, 4, 8)]
        series = [(LOOKS[name][0], LOOKS[name][1], [3 * (experiment.curve(test, name)[0] / 1000,) for _, test in tests])
                  for name in settings]
        axis = linear_axis("time, ms", max(each[0] for _, _, found in series for each in found))
        figures.append(Figure(bar_chart(title, [label for label, _ in tests], series, "processes", axis), title,
                              [(style, label, "bar") for style, label, _ in series]))
    return Section("engines-kernels", "NAS IS and FT", seen=[
        "Agrees: the gain is greatest with one process a node and falls with more, and nothing is lost by much (IS 3 % by"
        " EPC).",
        "With one process a node the communication of both kernels takes 36 to 39 % less. The paper timed whole programs (IS"
        " -13 %, FT -5 to -7 %), of which communication is a part; a third of IS and a sixth of FT would explain them.",
        "With two and four processes a node, one queue pair a peer fills the link. The paper still gained 8 % (IS) there.",
        "On 16 nodes with one process each (experiment/kernels, links of 1 GB/s, two engines of 600 MB/s, class A): IS"
        f" {experiment.kernel('is', 'default'):+.0f} % by default and {experiment.kernel('is', 'epc'):+.0f} % by EPC with reads,"
        f" FT {experiment.kernel('ft', 'default'):+.0f} % and {experiment.kernel('ft', 'epc'):+.0f} %.",
        "Not reproduced: figures 6.10 and 6.12, since our kernels have no class B."], figures=figures)
