"""The sections of the page, and how each is drawn."""
import html
import re

from . import collectives, computing, messages, overlap, pauses, rails, timelines, unlike
from .figures import counted
from .page import Section

DRAWN = {
    "messages": messages.draw,
    "collectives": collectives.draw,
    "overlap": overlap.draw_overlap,
    "computing": computing.draw,
    "startup": overlap.draw_startup,
    "rails": rails.draw,
    "pauses": pauses.draw,
    "failover": timelines.draw,
    "unlike": unlike.draw,
    "hpcc": timelines.draw_hpcc,
}
TITLES = {key: draw({}).title for key, draw in DRAWN.items()}


def runs_of(command):
    found = re.search(r"(?:--rounds|--runs|-r|(--faults)) (\d+)", command)
    if not found:
        return ""
    count = int(found.group(2))
    return f" ({counted(count, 'fault')} of each kind)" if found.group(1) else f" ({counted(count, 'run')})"


def draw(key, kept):
    """What was measured as a Section; what cannot be drawn is a failure that is shown, too."""
    try:
        section = DRAWN[key](kept["results"])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
        section = Section(
            key, TITLES[key], failed=f"what was measured cannot be drawn: {type(problem).__name__}: {problem}"
        )
    section.failed = "\n".join(filter(None, [kept.get("failed", ""), section.failed]))
    facts = [f"took {kept['seconds']:.0f} s"] if kept.get("seconds") else []
    if kept.get("load"):
        facts.append("load {:.1f} before, {:.1f} after".format(*kept["load"]))
    facts += [
        f"<code>{html.escape(command)}</code>{runs_of(command)}" for command in kept.get("commands", [])
    ]
    section.facts = "; ".join(facts) if kept.get("commands") else ""
    return section


def empty(key, kept):
    """HPCC is only shown when it was run."""
    return key == "hpcc" and not kept["results"].get("hpcc") and not kept.get("failed")
