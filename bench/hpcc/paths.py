"""What happened to each path and when, from the ranks' event logs (knob event_log)."""
import re
from dataclasses import dataclass, field

LINE = re.compile(r"(\d+)\.(\d{9}) rank=(\d+)(.*)")
IN_SERVICE = ("ready", "suspect")
BROKEN = ("stopping", "fencing", "failed")  # connecting and probing may be of the first connection, too


@dataclass
class Path:
    """Between two ranks over one pair of ports; ends are (rank, port)."""
    outages: list = field(default_factory=list)  # [begin, end or None, reason], ns, either end's
    down: set = field(default_factory=set)  # ranks at whose end it is not in service


@dataclass
class Story:
    paths: dict = field(default_factory=dict)  # (low rank, high rank, subchannel, port at the low one) -> Path
    partitions: list = field(default_factory=list)  # (rank, peer, begin, end or None)
    reissued: int = 0  # bytes sent once more
    recoveries: int = 0
    attempts: int = 0
    lost: list = field(default_factory=list)  # (at, rank, peer)


def read_events(files):
    """[(ns, rank, {key: value})] of all logs by time. A line that was cut off at a rank's death is left out."""
    events = []
    for path in files:
        with open(path, encoding="utf-8", errors="replace") as file:
            for seconds, part, rank, rest in LINE.findall(file.read()):
                events.append((int(seconds) * 10**9 + int(part), int(rank), dict(re.findall(r"(\w+)=(\S+)", rest))))
    return sorted(events, key=lambda event: event[0])


def tell(events):
    story = Story()
    apart = {}
    for at, rank, facts in events:
        what = facts.get("event")
        peer = int(facts.get("peer", -1))
        if what == "condition_changed":
            note_condition(story, at, rank, peer, facts)
        elif what == "reissued":
            story.reissued += int(facts["bytes"])
        elif what == "attempt":
            story.attempts += 1
        elif what == "partitioned":
            apart[rank, peer] = at
        elif what == "rejoined":
            story.partitions.append((rank, peer, apart.pop((rank, peer), at), at))
        elif what == "peer_lost":
            story.lost.append((at, rank, peer))
    story.partitions += [(rank, peer, begin, None) for (rank, peer), begin in apart.items()]
    return story


def note_condition(story, at, rank, peer, facts):
    key = (min(rank, peer), max(rank, peer), int(facts["subchannel"]))
    condition = facts["condition"]
    path = story.paths.get(key)
    if path is None:
        if condition not in IN_SERVICE:
            return  # not yet connected
        path = story.paths[key] = Path()
    if condition in IN_SERVICE:
        path.down.discard(rank)
        if not path.down and path.outages and path.outages[-1][1] is None:
            path.outages[-1][1] = at
            story.recoveries += 1
        return
    if not path.down:
        if condition not in BROKEN or facts.get("reason") == "torn_down":
            return
        path.outages.append([at, None, facts.get("reason", "?").replace("_", " ")])
    path.down.add(rank)


def lines(story, began):
    """For people; seconds since `began` (ns)."""
    def seconds(at):
        return f"{(at - began) / 1e9:.3f}"
    for (low, high, number), path in sorted(story.paths.items()):
        told = "; ".join(f"out {seconds(begin)} to {seconds(end) if end else 'the end'} ({reason})"
                         for begin, end, reason in path.outages)
        yield f"ranks {low} and {high}, path {number}: {told or 'never out'}"
    for rank, peer, begin, end in sorted(story.partitions, key=lambda item: item[2]):
        yield f"rank {rank} had no path to rank {peer} from {seconds(begin)} to {seconds(end) if end else 'the end'}"
    yield (f"{sum(len(path.outages) for path in story.paths.values())} outages of {len(story.paths)} paths, {story.recoveries} over; "
           f"{story.reissued} bytes sent once more")
