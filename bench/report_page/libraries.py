"""What the libraries are called, and sentences that compare their curves."""
from .charts import Series
from .figures import counted, geometric_mean, listed, short, spread

LABELS = {"hawser": "Hawser", "mpich": "MPICH", "openmpi": "Open MPI", "openib": "Open MPI (openib)", "ucx": "Open MPI (UCX rc_v)",
          "verbs": "ib_write_bw"}


def curve(library, by_x, factor=1.0, label=None, style=None, dashed=False):
    """A Series of {x: [figure of each run]}."""
    points = [(x, *(value * factor for value in spread(values))) for x, values in sorted(by_x.items()) if spread(values)]
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


def compare(what, ours, peers, lower, name, places="sizes"):
    """A sentence: at how many x ours is ahead, by how much, and where it is not."""
    found = ratios(ours, peers, lower)
    if not found:
        return f"<b>{what}</b>: there is no peer to compare with."
    ahead = [x for x, ratio in found.items() if (ratio <= 1 if lower else ratio >= 1)]
    mean = geometric_mean(found.values())
    better = listed(peer.label for peer in peers if peer.points)
    relation = f"{short(mean)} times the better peer's " + ("time" if lower else "rate")
    text = f"<b>{what}</b>: Hawser is ahead of {better} at {len(ahead)} of {len(found)} {places}, with {relation} in geometric mean"
    behind = {x: ratio for x, ratio in found.items() if x not in ahead}
    if behind:
        worst = (max if lower else min)(behind, key=behind.get)
        text += f"; it is behind at {listed(map(name, behind))}" if len(behind) <= 4 else f"; it is behind at {counted(len(behind), places[:-1])}"
        text += f", most at {name(worst)} ({short(found[worst])} times)"
    return text + "."
