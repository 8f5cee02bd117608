"""What the libraries are called, and sentences that compare their curves."""
from .charts import Series
from .figures import counted, geometric_mean, listed, spread

LABELS = {
    "hawser": "Hawser",
    "mpich": "MPICH",
    "openmpi": "Open MPI",
    "openib": "Open MPI (openib)",
    "ucx": "Open MPI (UCX rc_v)",
    "verbs": "ib_write_bw",
}


def curve(library, by_x, factor=1.0, label=None, style=None, dashed=False):
    """A Series of {x: [figure of each run]}."""
    points = [
        (x, *(value * factor for value in spread(values)))
        for x, values in sorted(by_x.items())
        if spread(values)
    ]
    return Series(style or library, label or LABELS[library], points, dashed)


def keys(series):
    return [(each.style, each.label, each.dashed) for each in series if each.points]


def values(series):
    return [value for each in series for _, *found in each.points for value in found]


def middles(series):
    return {x: middle for x, middle, _, _ in series.points}


def ratios(ours, peers, lower):
    """{x: ours to the better peer}."""
    mine, others = middles(ours), [middles(peer) for peer in peers]
    found = {}
    for x, value in mine.items():
        there = [other[x] for other in others if other.get(x)]
        if there and value:
            found[x] = value / (min(there) if lower else max(there))
    return found


LEVEL = 1.03  # runs differ by as much


def times(ratio):
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2f}"


def compare(what, ours, peers, lower, name, places="sizes"):
    """A sentence: at how many x ours is ahead, by how much, and where it is not."""
    found = ratios(ours, peers, lower)
    if not found:
        return f"<b>{what}</b>: there is no peer to compare with."
    # Above 1: so many times better than the better peer.
    gain = {x: 1 / ratio if lower else ratio for x, ratio in found.items()}
    ahead, behind = [x for x in gain if gain[x] > LEVEL], [x for x in gain if gain[x] < 1 / LEVEL]
    text = (
        f"<b>{what}</b>: Hawser is ahead of {listed(peer.label for peer in peers if peer.points)} at"
        f" {len(ahead)} of {len(found)} {places}"
        + (
            f", level at {len(found) - len(ahead) - len(behind)}"
            if len(found) > len(ahead) + len(behind)
            else ""
        )
        + f"; {times(geometric_mean(found.values()))} times the better peer's"
        f" {'time' if lower else 'rate'} in geometric mean"
    )
    if behind:
        worst = min(behind, key=gain.get)
        text += (
            "; behind at"
            f" {listed(map(name, behind)) if len(behind) <= 4 else counted(len(behind), places[:-1])}"
        )
        text += f", most at {name(worst)} ({times(found[worst])} times)"
    return text + "."
