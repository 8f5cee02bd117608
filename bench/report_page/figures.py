"""Numbers: medians with their range, and how they are written."""
import math
import statistics


def spread(values):
    """(median, lowest, highest) of runs; None where there is none."""
    values = [value for value in values if value is not None]
    return (statistics.median(values), min(values), max(values)) if values else None


def percentile(values, share):
    """As bench/rails counts it."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def short(value):
    """Three significant digits, thousands separated."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    return f"{rounded:,.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def with_range(found, factor=1.0):
    """`0.081 (0.080 to 0.090)`."""
    if found is None:
        return "-"
    middle, low, high = (short(value * factor) for value in found)
    return middle if low == high else f"{middle} ({low} to {high})"


def size_label(size):
    return f"{size} B" if size < 1024 else f"{size >> 10} KiB" if size < 1 << 20 else f"{size >> 20} MiB"


def listed(words):
    words = list(words)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def counted(number, noun):
    return f"{number} {noun}" + ("" if number == 1 else "es" if noun.endswith("s") else "s")
