"""Charts as SVG. Colours are classes, so that one picture serves light and dark; every point tells its value
(`title`, and `data-` for the page's script)."""
import html
from dataclasses import dataclass, field

from .figures import short

WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 60, 26, 14, 46
MARKS = {
    "hawser": "circle",
    "mpich": "square",
    "openmpi": "triangle",
    "openib": "triangle",
    "ucx": "diamond",
    "verbs": "cross",
}


@dataclass
class Series:
    """A curve: style is a class of the style sheet, points are (x, middle, low, high)."""

    style: str
    label: str
    points: list
    dashed: bool = False


@dataclass
class Span:
    """A shaded time with words."""

    begin: float
    end: float
    text: str


@dataclass
class Level:
    """A line across at a value."""

    value: float
    text: str


@dataclass
class Plot:
    """Axes on paper; what is drawn collects in `out`."""

    x: object
    y: object
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    out: list = field(default_factory=list)

    def __post_init__(self):
        self.right, self.bottom = self.width - RIGHT, self.height - BOTTOM

    def at_x(self, value):
        return self.left + self.x.place(value) * (self.right - self.left)

    def at_y(self, value):
        return self.bottom - self.y.place(value) * (self.bottom - TOP)

    def add(self, *elements):
        self.out += elements

    def grid(self, upright=True):
        for value, text in self.y.ticks:
            y = self.at_y(value)
            self.add(f'<path class="grid" d="M{self.left} {y:.1f}H{self.right}"/>')
            if text:
                self.add(
                    f'<text class="tick" x="{self.left - 7}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
                )
        for value, text in self.x.ticks:
            x = self.at_x(value)
            if upright:
                self.add(f'<path class="grid" d="M{x:.1f} {TOP}V{self.bottom}"/>')
            self.add(
                f'<text class="tick" x="{x:.1f}" y="{self.bottom + 17}" text-anchor="middle">{text}</text>'
            )

    def frame(self):
        middle = (TOP + self.bottom) / 2
        self.add(
            f'<path class="axis" d="M{self.left} {TOP}V{self.bottom}H{self.right}"/>',
            (
                f'<text class="label" x="{(self.left + self.right) / 2:.0f}" y="{self.height - 9}"'
                f' text-anchor="middle">{escape(self.x.label)}</text>'
            ),
            (
                f'<text class="label" transform="rotate(-90)" x="{-middle:.0f}" y="14"'
                f' text-anchor="middle">{escape(self.y.label)}</text>'
            ),
        )

    def shade(self, spans):
        for span in spans:
            x, right = self.at_x(span.begin), self.at_x(span.end)
            self.add(
                f'<rect class="span" x="{x:.1f}" y="{TOP}" width="{max(1.5, right - x):.1f}"'
                f' height="{self.bottom - TOP}"/>'
            )

    def name_spans(self, spans):
        for i, span in enumerate(spans):
            x = self.at_x(span.begin)
            late = x > (self.left + self.right) * 0.7
            where = f'x="{self.at_x(span.end) - 4:.1f}" text-anchor="end"' if late else f'x="{x + 4:.1f}"'
            self.add(f'<text class="note" {where} y="{TOP + 12 + 13 * (i % 3)}">{escape(span.text)}</text>')

    def draw_levels(self, levels):
        for level in levels:
            y = self.at_y(level.value)
            self.add(
                f'<path class="level" d="M{self.left} {y:.1f}H{self.right}"/>',
                (
                    f'<text class="note" x="{self.right - 4}" y="{y - 4:.1f}"'
                    f' text-anchor="end">{escape(level.text)}</text>'
                ),
            )

    def svg(self, title):
        return (
            f'<svg class="chart" viewBox="0 0 {self.width} {self.height}" role="img"'
            f' aria-label="{escape(title)}">'
            + "".join(self.out)
            + "</svg>"
        )


def escape(text):
    return html.escape(str(text), quote=True)


def marker(shape, x, y, size, attributes, title):
    far = 1.3 * size
    paths = {
        "square": f"M{x - size:.1f} {y - size:.1f}h{2 * size}v{2 * size}h{-2 * size}Z",
        "triangle": f"M{x:.1f} {y - 1.2 * size:.1f}l{1.2 * size:.1f} {2.1 * size:.1f}h{-2.4 * size:.1f}Z",
        "diamond": f"M{x:.1f} {y - far:.1f}l{far:.1f} {far:.1f}l{-far:.1f} {far:.1f}l{-far:.1f} {-far:.1f}Z",
        "cross": f"M{x - size:.1f} {y - size:.1f}l{2 * size} {2 * size}m0 {-2 * size}l{-2 * size} {2 * size}",
        "circle": (
            f"M{x - size:.1f} {y:.1f}a{size} {size} 0 1 0 {2 * size} 0a{size} {size} 0 1 0 {-2 * size} 0Z"
        ),
    }
    return f'<path class="mark" {attributes} d="{paths[shape]}"><title>{escape(title)}</title></path>'


def told(label, x_text, found, unit):
    middle, low, high = found
    text = f"{short(middle)} {unit}".strip()
    return text + (f" ({short(low)} to {short(high)})" if low != high else ""), f"{label}, {x_text}: "


def draw_series(plot, series, x_name, unit, size):
    points = series.points
    upper = [(plot.at_x(x), plot.at_y(high)) for x, _, _, high in points]
    lower = [(plot.at_x(x), plot.at_y(low)) for x, _, low, _ in points]
    band = "L".join(f"{x:.1f} {y:.1f}" for x, y in upper + lower[::-1])
    line = "L".join(f"{plot.at_x(x):.1f} {plot.at_y(middle):.1f}" for x, middle, _, _ in points)
    plot.add(
        f'<g class="curve s-{series.style}{" dashed" if series.dashed else ""}"'
        f' data-label="{escape(series.label)}">'
    )
    if len(points) > 1:
        plot.add(f'<path class="band" d="M{band}Z"/>', f'<path class="line" d="M{line}"/>')
    for x, *found in points:
        value, before = told(series.label, x_name(x), found, unit)
        plot.add(
            marker(
                MARKS.get(series.style.split("-")[0], "circle"),
                plot.at_x(x),
                plot.at_y(found[0]),
                size,
                f'data-x="{escape(x_name(x))}" data-value="{escape(value)}"',
                before + value,
            )
        )
    plot.add("</g>")


def line_chart(title, series, x, y, x_name=str, unit="", levels=(), size=3, **shape):
    plot = Plot(x, y, **shape)
    plot.grid()
    plot.draw_levels(levels)
    # Ours is drawn last, on top.
    for each in sorted(series, key=lambda s: s.style.startswith("hawser")):
        if each.points:
            draw_series(plot, each, x_name, unit, size)
    plot.frame()
    return plot.svg(title)


def bar_chart(title, groups, series, x_label, y, unit="", **shape):
    """Bars side by side: `series` is [(style, label, [(middle, low, high) or None of each group])]."""
    from .axes import named_axis

    plot = Plot(named_axis(x_label, groups), y, **shape)
    plot.grid(upright=False)
    whole = (plot.right - plot.left) / len(groups) * 0.76
    width = whole / len(series)
    for k, (style, label, found) in enumerate(series):
        plot.add(f'<g class="bars s-{style}" data-label="{escape(label)}">')
        for i, each in enumerate(found):
            if each is None:
                continue
            value, before = told(label, str(groups[i]), each, unit)
            x, y_top = plot.at_x(i) - whole / 2 + k * width, plot.at_y(each[0])
            middle = x + width / 2
            plot.add(
                (
                    f'<path class="bar" data-x="{escape(groups[i])}" data-value="{escape(value)}" '
                    f'd="M{x + 1:.1f} {plot.bottom}V{y_top:.1f}h{width - 2:.1f}V{plot.bottom}Z">'
                    f"<title>{escape(before + value)}</title></path>"
                ),
                (
                    '<path class="whisker"'
                    f' d="M{middle:.1f} {plot.at_y(each[1]):.1f}V{plot.at_y(each[2]):.1f}"/>'
                ),
            )
        plot.add("</g>")
    plot.frame()
    return plot.svg(title)


def strip_chart(title, rows, x, unit, width=WIDTH * 2):
    """A row for each (label, values, median, p99, limit): a dot for each value, lines for the others."""
    from .axes import Axis

    height = TOP + BOTTOM + 62 * len(rows)
    plot = Plot(x, Axis("", 0, len(rows)), width=width, height=height, left=170)
    plot.grid()
    for i, (label, values, middle, most, limit) in enumerate(rows):
        centre = TOP + 62 * i + 31
        plot.add(
            (
                f'<text class="row" x="{plot.left - 10}" y="{centre + 4}"'
                f' text-anchor="end">{escape(label)}</text>'
            ),
            '<g class="dots s-hawser">',
        )
        for k, value in enumerate(values):
            y = centre + ((k * 7) % 11 - 5) * 2.6  # apart, and the same every time
            plot.add(
                f'<circle class="dot" cx="{plot.at_x(value):.1f}" cy="{y:.1f}"'
                f' r="3"><title>{short(value)} {unit}</title></circle>'
            )
        plot.add("</g>")
        for value, style, text in (
            (middle, "median", f"median {short(middle)}"),
            (most, "p99", f"p99 {short(most)}"),
            (limit, "limit", f"target {short(limit)}"),
        ):
            at = plot.at_x(value)
            plot.add(
                f'<path class="{style}"'
                f' d="M{at:.1f} {centre - 21}v42"><title>{escape(text)} {unit}</title></path>'
            )
        plot.add(
            f'<text class="note" x="{plot.at_x(middle):.1f}" y="{centre - 23}"'
            f' text-anchor="middle">{short(middle)}</text>'
        )
        plot.add(f'<path class="grid" d="M{plot.left} {TOP + 62 * (i + 1)}H{plot.right}"/>')
    plot.frame()
    return plot.svg(title)


def area_chart(title, rates, width_of_bin, x, y, labels, spans=(), levels=(), **shape):
    """Stacked rates: `rates` is [[rate of each rail] of each bin]; drawn in steps."""
    plot = Plot(x, y, **shape)
    plot.shade(spans)
    plot.grid(upright=False)
    lower = [0.0] * len(rates)
    for rail in range(len(rates[0]) if rates else 0):
        upper = [low + each[rail] for low, each in zip(lower, rates)]
        edges = [(i * width_of_bin, (i + 1) * width_of_bin) for i in range(len(rates))]
        forth = [(at, value) for ends, value in zip(edges, upper) for at in ends]
        back = [(at, value) for ends, value in zip(edges, lower) for at in ends][::-1]
        path = "L".join(
            f"{plot.at_x(at):.1f} {plot.at_y(value):.1f}"
            for at, value in without_repeats(forth) + without_repeats(back)
        )
        plot.add(
            f'<path class="area rail{rail}" d="M{path}Z"'
            f' data-label="{escape(labels[rail])}"><title>{escape(labels[rail])}</title></path>'
        )
        lower = upper
    plot.draw_levels(levels)
    plot.name_spans(spans)
    plot.frame()
    return plot.svg(title)


def without_repeats(points):
    """Without those in the middle of a flat stretch."""
    return [
        point
        for i, point in enumerate(points)
        if not 0 < i < len(points) - 1 or not points[i - 1][1] == point[1] == points[i + 1][1]
    ]


def legend(entries):
    """HTML: a sample of each (style, label, kind); kind is False or True for a line (dashed), or "bar", "area",
    "dot", "upright"."""
    out = []
    for style, label, kind in entries:
        if kind in ("bar", "area"):
            sample = f'<rect class="{kind} {style}" x="3" y="2" width="18" height="10"/>'
        elif kind == "dot":
            sample = '<circle class="dot" cx="12" cy="7" r="3.5"/>'
        elif kind == "upright":
            sample = f'<path class="{style}" d="M12 0v14"/>'
        else:
            sample = '<path class="line" d="M0 7H24"/>' + marker(
                MARKS.get(style.split("-")[0], "circle"), 12, 7, 3, "", label
            )
        out.append(
            f'<span class="key"><svg class="s-{style}{" dashed" if kind is True else ""}" width="24"'
            f' height="14" aria-hidden="true">{sample}</svg>{escape(label)}</span>'
        )
    return f'<div class="legend">{"".join(out)}</div>'
