"""Sections of bandwidth over time: a cable that is pulled; a rail that becomes slow; HPCC."""
from .axes import linear_axis, time_axis
from .charts import Level, Span, area_chart, escape
from .figures import counted, listed, short, spread
from .page import Figure, Section, Table
from .rails import targets_of

TALL, WIDE = {"width": 1120, "height": 230}, 1120
RAILS = [("rail0", "rail 0", "area"), ("rail1", "rail 1", "area")]


def total(rates, width, begin, end):
    """Mean MB/s of all rails between two times; None where that is no whole bin."""
    found = [sum(each) for i, each in enumerate(rates) if begin <= i * width and (i + 1) * width <= end]
    return sum(found) / len(found) if found else None


def quiet_time(rates, width, begin, end, full):
    """Seconds of the longest stretch between two times in which less than a fiftieth of `full` is carried."""
    longest = run = 0
    for i, each in enumerate(rates):
        inside = begin - width <= i * width <= end
        run = run + 1 if inside and sum(each) < full / 50 else 0
        longest = max(longest, run)
    return longest * width


def mb(rate):
    return "-" if rate is None else f"{rate:.0f}"


def tell_failover(run):
    rates, width, down, up = run["rates"], run["bin_s"], run["down_s"], run["up_s"]
    before, out = total(rates, width, 0, down) or 0, total(rates, width, down + 0.25, up)
    end = len(rates) * width
    after = total(rates, width, up + min(1.0, (end - up) / 2), end)
    still = quiet_time(rates, width, down, end, before)
    text = (
        f"<b>{run['label']}</b>: {mb(before)} MB/s before, {mb(out)} while the cable is out,"
        f" {mb(after)} after its return; "
    )
    if run["pause_ms"] is not None:
        text += f"longest gap between two messages {short(run['pause_ms'])} ms."
    elif still >= 2 * width:
        text += f"it carried nothing for {still:.1f} s."
    else:
        text += "it did not stand still."
    return text + (
        f" It did not end well: <code>{escape(run['wrong'][:240])}</code>." if run["wrong"] else ""
    )


def draw_failover(section, runs):
    most = max(sum(each) for run in runs for each in run["rates"])
    for run in runs:
        out = Span(run["down_s"], run["up_s"], f"{run['cable']} out")
        svg = area_chart(
            run["label"],
            run["rates"],
            run["bin_s"],
            time_axis(len(run["rates"]) * run["bin_s"]),
            linear_axis("MB/s", most, most=5),
            [label for _, label, _ in RAILS],
            [out],
            **TALL,
        )
        section.figures.append(
            Figure(
                svg,
                f"{run['label']}: what the rails carry while a cable is pulled and comes back",
                RAILS,
                wide=True,
            )
        )
        section.seen.append(tell_failover(run))
    ours = next((run for run in runs if run["library"] == "hawser"), None)
    if ours and ours["pause_ms"] is not None:
        section.headline.append(
            (f"{short(ours['pause_ms'])} ms", "longest gap of a stream whose receiver's cable is pulled")
        )
    section.tables.append(
        Table(
            "MB/s and gaps",
            ["library", "before", "cable out", "back", "longest gap, ms", "how it ended"],
            [
                [
                    run["label"],
                    *(
                        mb(total(run["rates"], run["bin_s"], *span))
                        for span in (
                            (0, run["down_s"]),
                            (run["down_s"] + 0.25, run["up_s"]),
                            (run["up_s"] + 1, len(run["rates"]) * run["bin_s"]),
                        )
                    ),
                    short(run["pause_ms"]),
                    run["wrong"] or "well",
                ]
                for run in runs
            ],
        )
    )


def of_bins(bins, begin, end, width=0.1):
    """[[MB/s] of each tenth of a second] of stream.c's bins between two times in ns."""
    return [[count / width / 1e6] for at, count in bins if begin <= at < end]


def draw_degraded(section, kept):
    run = kept[-1]
    begin = max(run["bins"][0][0], run["slow"] - 2_500_000_000)
    rates = of_bins(run["bins"], begin, run["bins"][-1][0] + 1)
    slow, healed = ((run[name] - begin) / 1e9 for name in ("slow", "healed"))
    most = max(rate for each in rates for rate in each)
    levels = [
        Level(run["before"], f"before: {short(run['before'])} MB/s"),
        Level(run["left"], f"what is left: {short(run['left'])} MB/s"),
    ]
    svg = area_chart(
        "A rail that becomes slow",
        rates,
        0.1,
        time_axis(len(rates) * 0.1),
        linear_axis("MB/s", 1.05 * most, most=5),
        ["both rails"],
        [Span(slow, healed, "one rail at 10 % of its rate")],
        levels,
        **TALL,
    )
    section.figures.append(
        Figure(
            svg,
            "Hawser: one of two rails becomes slow and recovers (the last run)",
            [("rail0", "both rails", "area")],
            wide=True,
        )
    )
    for name, what in (
        ("adapted_ms", "90 % of what is left is carried after"),
        ("recovered_ms", "at the full rate again, 90 % of all is carried after"),
    ):
        found = spread([each[name] for each in kept])
        never = sum(each[name] is None for each in kept)
        text = (
            f"{what} {short(found[0])} ms (median of {counted(len(kept) - never, 'run')})"
            if found
            else f"{what.rsplit(' ', 1)[0]} never"
        )
        section.seen.append(
            f"A rail at a tenth of its rate: {text}"
            + (f"; never in {never} of {len(kept)} runs" if found and never else "")
            + "."
        )


def draw(results):
    section = Section(
        "failover",
        "Bandwidth over time while things fail",
        (
            "A stream of messages over two rails of 200 MB/s; the picture is what the fabric's cables"
            " carried, so it shows each library alike, and also a job that did not end well."
        ),
    )
    runs = results.get("timeline", {}).get("data", {}).get("timeline", [])
    if runs:
        draw_failover(section, runs)
    missing = [
        row for row in results.get("timeline", {}).get("rows", []) if row["figure"].startswith("did not run")
    ]
    section.seen += [escape(f"{row['label']} {row['figure']}") for row in missing]
    slow = results.get("degraded", {})
    if slow.get("data", {}).get("degraded"):
        draw_degraded(section, slow["data"]["degraded"])
    section.targets += targets_of(slow.get("rows", []))
    return section


def draw_hpcc(results):
    section = Section(
        "hpcc",
        "HPCC while things fail",
        (
            "What the adapters of 4 virtual hosts with 2 rails of 100 MB/s sent during the HPC Challenge"
            " benchmark, from the last <code>scripts/demo</code> (not measured again here)."
        ),
    )
    runs = results.get("hpcc", [])
    most = max((sum(each) for run in runs for each in run["rates"]), default=1)
    longest = max((len(run["rates"]) * run["bin_s"] for run in runs), default=1)
    for run in runs:
        spans = [Span(begin, end, text) for begin, end, text in run["outages"]]
        svg = area_chart(
            run["label"],
            run["rates"],
            run["bin_s"],
            time_axis(longest),
            linear_axis("MB/s of all adapters", most, most=5),
            [label for _, label, _ in RAILS],
            spans,
            [],
            width=WIDE,
            height=280,
        )
        section.figures.append(Figure(svg, run["label"], RAILS, wide=True))
    if len(runs) > 1:
        section.seen.append(
            "Times: " + listed(f"{run['label']} {run['seconds']:.0f} s" for run in runs) + "."
        )
    parts = [
        [run["label"], name, f"{begin:.1f}", f"{end:.1f}"]
        for run in runs
        for name, begin, end in run["sections"]
    ]
    if parts:
        section.tables.append(Table("HPCC's parts", ["run", "part", "from (s)", "to (s)"], parts))
    return section
