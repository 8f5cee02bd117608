"""What links carried over time: the record of `hawser fabric watch --record`."""
import json
import re
from dataclasses import dataclass

MB = 1e6


@dataclass
class Record:
    origin: float  # second of the monotonic clock at which the fabric's time began
    looks: list  # (seconds, [bytes that adapters sent since the look before, per rail])
    faults: list  # (seconds, text)
    capacity: float  # bytes per second of all adapters together; 0 without limit

    def bins(self, begin, end, width):
        """[[bytes per second per rail] per bin], the bytes of a look spread evenly over its time. Seconds of the fabric."""
        count = max(1, int((end - begin) / width + 0.999))
        rails = len(self.looks[0][1]) if self.looks else 0
        bins = [[0.0] * rails for _ in range(count)]
        before = 0.0
        for at, moved in self.looks:
            span = max(at - before, 1e-9)
            first, last = max(0, int((before - begin) / width)), min(count - 1, int((at - begin) / width))
            for i in range(first, last + 1):
                low, high = begin + i * width, begin + (i + 1) * width
                share = max(0.0, min(at, high) - max(before, low)) / span
                for rail, amount in enumerate(moved):
                    bins[i][rail] += amount * share / width
            before = at
        return bins


def read_record(path):
    """Rail i is the i-th adapter of a host: n0/hw1 is of rail 1."""
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    head, rest = lines[0], lines[1:]
    rails = [re.fullmatch(r"[^/]+/\D+(\d+)(?::\d+)?", link["a"]) for link in head["links"]]
    rails = [int(found.group(1)) if found else None for found in rails]  # None: between switches
    number = max(rail for rail in rails if rail is not None) + 1
    looks = []
    for line in rest:
        if "out" in line:
            looks.append((line["seconds"], [sum(count for count, rail in zip(line["out"], rails) if rail == wanted)
                                            for wanted in range(number)]))
    faults = [(line["seconds"], line["fault"]) for line in rest if "fault" in line]
    return Record(head["origin"], looks, faults, sum(link["rate"] for link, rail in zip(head["links"], rails) if rail is not None))
