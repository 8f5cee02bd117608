"""What scripts/demo left in build/demo, in the size of a picture."""
import json
import sys

from .machine import ROOT

sys.path.append(str(ROOT / "bench/hpcc"))
import bandwidth  # noqa: E402

BINS = 300
LABELS = {"undisturbed": "HPCC undisturbed", "faults": "HPCC while a cable, a switch and a host fail"}


def busy_span(record):
    """(begin, end) of what was carried, for a record without the times of its run."""
    times = [at for at, moved in record.looks if sum(moved) > 0]
    return (min(times), max(times)) if times else (0.0, record.looks[-1][0])


def one(folder):
    record = bandwidth.read_record(folder / "links.jsonl")
    about = folder / "run.json"
    run = json.loads(about.read_text(encoding="utf-8")) if about.exists() else {}
    begin, end = (run["began"] - record.origin, run["ended"] - record.origin) if run else busy_span(record)
    width = max(0.1, (end - begin) / BINS)
    outages = [
        (max(0, a - begin), b - begin, text)
        for a, b, text in bandwidth.outages(record.faults, end)
        if b > begin and a < end
    ]
    sections = [
        (name, a - record.origin - begin, b - record.origin - begin) for name, a, b in run.get("sections", [])
    ]
    return {
        "label": LABELS[folder.name],
        "seconds": end - begin,
        "bin_s": width,
        "outages": outages,
        "sections": sections,
        "rates": [[rate / bandwidth.MB for rate in rates] for rates in record.bins(begin, end, width)],
    }


def runs(demo):
    """Of the runs that are there; none is no failure."""
    folders = [demo / name for name in LABELS if (demo / name / "links.jsonl").exists()]
    return [
        one(folder)
        for folder in folders
        if (folder / "links.jsonl").read_text(encoding="utf-8").count("\n") > 2
    ]
