"""Axes: where a value stands, and which values get a line and a number."""
import math
from dataclasses import dataclass, field

from .figures import size_label


@dataclass
class Axis:
    label: str
    low: float
    high: float
    log: bool = False
    ticks: list = field(default_factory=list)  # (value, text); text may be empty: a line alone

    def place(self, value):
        """0 to 1."""
        low, high, value = (
            (math.log(v) for v in (self.low, self.high, max(value, self.low)))
            if self.log
            else (self.low, self.high, value)
        )
        return 0.5 if high == low else min(1.0, max(0.0, (value - low) / (high - low)))


def plain(value):
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= unit:
            return f"{value / min(unit, 1e3) if name == 'k' else value / unit:g}{name}"
    return f"{value:g}"


def bytes_axis(sizes, label="message size"):
    low, high = min(sizes), max(sizes)
    doublings = round(math.log2(high / low)) if high > low else 0
    if len(set(sizes)) <= 6:
        return Axis(label, low, high, True, [(size, size_label(size)) for size in sorted(set(sizes))])
    step = next(step for step in (1, 2, 4, 6) if doublings <= 6 * step or step == 6)
    ticks = [(low << i, size_label(low << i)) for i in range(0, doublings + 1, step)]
    return Axis(label, low, high, True, ticks)


def log_axis(label, values, dense=False):
    """From and to 1, 2 or 5 times a power of ten; `dense`: there is room for a number at each of these."""
    values = [value for value in values if value > 0] or [1]
    steps = [
        factor * 10.0**decade
        for decade in range(math.floor(math.log10(min(values))) - 1, math.ceil(math.log10(max(values))) + 1)
        for factor in (1, 2, 5)
    ]
    low = max(step for step in steps if step < min(values))
    high = min(step for step in [*steps, 10 * steps[-1]] if step > max(values))
    wide = math.log10(high / low)

    def text(step):
        power = math.log10(step)
        whole = abs(power - round(power)) < 1e-9
        return plain(step) if dense or wide <= 2 or (whole and (wide <= 6 or round(power) % 2 == 0)) else ""

    ticks = [(step, text(step)) for step in steps if low <= step <= high]
    return Axis(label, low, high, True, [tick for tick in ticks if tick[1] or wide <= 4])


def linear_axis(label, high, low=0.0, most=6):
    high = high if high > low else low + 1
    raw = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * unit for factor in (1, 2, 2.5, 5, 10) if factor * unit >= raw * 0.999)
    top = math.ceil(round((high - low) / step, 6)) * step + low
    return Axis(
        label,
        low,
        top,
        False,
        [(low + i * step, plain(round(low + i * step, 10))) for i in range(round((top - low) / step) + 1)],
    )


def time_axis(high, label="seconds"):
    axis = linear_axis(label, high, most=10)
    return Axis(label, 0, high, False, [tick for tick in axis.ticks if tick[0] <= high])


def named_axis(label, values):
    """Numbers that are names: at even distances."""
    return Axis(label, -0.5, len(values) - 0.5, False, [(i, str(value)) for i, value in enumerate(values)])
