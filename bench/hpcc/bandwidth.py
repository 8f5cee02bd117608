"""What the rails carried over time, from the record of `hawser fabric watch --record`: for the terminal, and as a picture."""
import math
import pathlib
import sys
from dataclasses import dataclass

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from hawser_lab.record import MB, Record, read_record  # noqa: E402, F401

COLOURS = ("#3b6ea8", "#8fb7dd")  # of rail 0, rail 1
WIDTH, PANEL, LEFT, TOP, GAP = 960, 170, 60, 46, 74

NAMED = ("MPIRandomAccess", "MPIRandomAccess_LCG", "PTRANS", "MPIFFT", "LatencyBandwidth", "HPL")


@dataclass
class Panel:
    title: str
    record: Record
    begin: float  # seconds of the fabric
    end: float
    sections: list  # (name, begin, end), seconds of the fabric


def terminal(panel, rows=48, columns=44):
    """Lines `seconds MB/s bar notes`; `#` for rail 0, `=` for the next."""
    record, begin, end = panel.record, panel.begin, panel.end
    happened = sorted([(at, name) for name, at, _ in panel.sections if name in NAMED] + record.faults)
    width = max(0.5, round((end - begin) / rows * 2 + 0.5) / 2)
    bins = record.bins(begin, end, width)
    full = record.capacity or max(sum(each) for each in bins) or 1
    for i, rates in enumerate(bins):
        low = begin + i * width
        notes = ", ".join(text for at, text in happened if low <= at < low + width)
        bar, drawn = "", 0.0
        for rate, mark in zip(rates, "#=+*"):
            drawn += rate
            bar += mark * (min(columns, round(drawn / full * columns)) - len(bar))
        yield f"{i * width:7.1f} s {sum(rates) / MB:6.0f} MB/s {bar:<{columns}} {notes}".rstrip()


ENDS = {"up": ("down",), "alive": ("dead",), "clear": ("blackhole", "loss", "rate", "delay")}
TROUBLE = {kind for kinds in ENDS.values() for kind in kinds}


def outages(faults, end):
    """[(begin, end, text)] of what was taken down or made worse; faults that bring back end it, else `end` does."""
    open_, found = {}, []
    for at, text in faults:
        what, name, kind, *_ = [*text.split(), "", ""]
        if kind in TROUBLE:
            open_.setdefault((what, name, kind), (at, text))
        for ended in ENDS.get(kind, ()):
            if (what, name, ended) in open_:
                begin, cause = open_.pop((what, name, ended))
                found.append((begin, at, cause))
    found += [(begin, end, cause) for begin, cause in open_.values()]
    return sorted(found)


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def area(lower, upper, place_x, place_y):
    """A closed path between two rows of heights, in steps."""
    forth, back = [], []
    for i, (low, high) in enumerate(zip(lower, upper)):
        forth += [(place_x(i), place_y(high)), (place_x(i + 1), place_y(high))]
        back += [(place_x(i), place_y(low)), (place_x(i + 1), place_y(low))]
    points = forth + back[::-1]
    kept = [point for i, point in enumerate(points)
            if not 0 < i < len(points) - 1 or not points[i - 1][1] == point[1] == points[i + 1][1]]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in kept) + "Z"


def next_row(rows, x, width):
    """The first row whose text has ended before x; texts upon each other cannot be read."""
    row = next((i for i, taken in enumerate(rows) if taken <= x), len(rows))
    rows[row:row + 1] = [x + width]
    return row


def draw_outages(panel, top, place):
    shades, texts, rows = [], [], []
    for begin, end, text in outages(panel.record.faults, panel.end):
        x, right = place(begin), place(end)
        shades.append(f'<rect x="{x:.1f}" y="{top}" width="{max(1.5, right - x):.1f}" height="{PANEL}" fill="#f6d5d3"/>')
        y = top + 12 + 12 * next_row(rows, x, 6.2 * len(text))
        texts.append(f'<text x="{x + 2:.1f}" y="{y}" fill="#a02622">{escape(text)}</text>')
    return shades, texts


def draw_sections(panel, top, place):
    out, rows = [], []
    for name, begin, _ in panel.sections:
        x = place(begin)
        out.append(f'<path d="M{x:.1f} {top}v{PANEL}" stroke="#000" opacity=".12"/>')
        if name in NAMED:  # the others communicate next to nothing
            y = top + PANEL + 24 + 12 * next_row(rows, x, 6.0 * len(name))
            out.append(f'<text x="{x + 2:.1f}" y="{y}" fill="#555">{escape(name)}</text>')
    return out


def draw_panel(panel, top, scale, highest, bin_width):
    def place(seconds):
        return LEFT + (min(seconds, panel.end) - panel.begin) * scale

    def height(rate):
        return top + PANEL - min(1.0, rate / highest) * PANEL

    shades, texts = draw_outages(panel, top, place)
    out = [f'<text x="{LEFT}" y="{top - 8}" font-size="13">{escape(panel.title)}</text>', *shades]
    bins = panel.record.bins(panel.begin, panel.end, bin_width)
    lower = [0.0] * len(bins)
    for rail, colour in zip(range(len(bins[0])), COLOURS):
        upper = [low + rates[rail] for low, rates in zip(lower, bins)]
        path = area(lower, upper, lambda i: place(panel.begin + i * bin_width), height)
        out.append(f'<path d="{path}" fill="{colour}"/>')
        lower = upper
    out += draw_sections(panel, top, place) + texts
    out.append(f'<path d="M{LEFT} {top}v{PANEL}h{place(panel.end) - LEFT:.1f}" fill="none" stroke="#000"/>')
    for share in (0, 0.5, 1):
        y = top + PANEL * (1 - share)
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{highest * share / MB:.0f}</text>')
    seconds = 0
    while seconds <= panel.end - panel.begin:
        out.append(f'<text x="{place(panel.begin + seconds):.1f}" y="{top + PANEL + 12}" text-anchor="middle">{seconds} s</text>')
        seconds += 10
    return out


def picture(panels, title):
    """An SVG: one panel a run, on one scale of time; the rails stacked, what was down shaded."""
    longest = max(panel.end - panel.begin for panel in panels)
    bin_width = max(0.2, longest / 250)
    peak = max(sum(rates) for panel in panels for rates in panel.record.bins(panel.begin, panel.end, bin_width))
    highest = max(1, math.ceil(1.25 * peak / 1e8)) * 1e8  # room for what is written above
    scale = (WIDTH - LEFT - 20) / longest
    whole = TOP + len(panels) * (PANEL + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {whole}" font-family="sans-serif" font-size="10">',
           f'<rect width="{WIDTH}" height="{whole}" fill="#fff"/>',
           f'<text x="{LEFT}" y="18" font-size="14" font-weight="bold">{escape(title)}</text>']
    for rail, colour in enumerate(COLOURS):
        x = WIDTH - 190 + 90 * rail
        out.append(f'<rect x="{x}" y="26" width="10" height="10" fill="{colour}"/><text x="{x + 14}" y="35">rail {rail}, MB/s</text>')
    for i, panel in enumerate(panels):
        out += draw_panel(panel, TOP + i * (PANEL + GAP), scale, highest, bin_width)
    return "\n".join(out) + "\n</svg>\n"
