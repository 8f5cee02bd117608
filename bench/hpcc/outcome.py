"""What HPCC says of itself in hpccoutf.txt: one verdict for each of its tests, from the checks that the test made.

A test that is missing, that was cut short, or whose check is not there has failed: no news is bad news. By itself:
outcome.py hpccoutf.txt
"""
import math
import re
import sys
from dataclasses import dataclass

# In the order in which HPCC 1.5.0 runs them.
SECTIONS = ("MPIRandomAccess", "StarRandomAccess", "SingleRandomAccess", "MPIRandomAccess_LCG", "StarRandomAccess_LCG",
            "SingleRandomAccess_LCG", "PTRANS", "StarDGEMM", "SingleDGEMM", "StarSTREAM", "SingleSTREAM", "MPIFFT", "StarFFT",
            "SingleFFT", "LatencyBandwidth", "HPL")
# HPCC's own bound for scaled residuals (hpccinf.txt, line 13) and for FFT's error over log2(n) * epsilon.
THRESHOLD = 16.0
EPSILON = 2.0 ** -53


@dataclass
class Verdict:
    test: str
    passed: bool
    why: str


class Missing(Exception):
    """A check that should be there is not."""


def find(pattern, text, what):
    found = re.search(pattern, text, re.M)
    if not found:
        raise Missing(f"no {what}")
    return found


def number(pattern, text, what):
    return float(find(pattern, text, what).group(1))


def all_nodes(text):
    errors = number(r"^Node\(s\) with error (\d+)", text, "count of nodes with errors")
    return errors == 0, f"{errors:.0f} nodes with errors"


def random_access(text):
    """MPI and Star: the table is computed backwards and compared."""
    errors = number(r"^Found (\d+) errors in \d+ locations", text, "count of errors")
    where = number(r"^Found \d+ errors in (\d+) locations", text, "count of locations")
    return errors == 0 and where > 0, f"{errors:.0f} errors in {where:.0f} locations"


def star(check):
    def judge(text):
        good, why = check(text)
        nodes_good, nodes = all_nodes(text)
        return good and nodes_good, f"{why}, {nodes}"
    return judge


def ptrans(text):
    rows = re.findall(r"^WALL +\d+ +\d+ +\d+ +\d+ +\d+ +\d+ +\S+ +(\S+) +\S+ +(\S+)", text, re.M)
    if not rows:
        raise Missing("no transposition")
    passed = number(r"^ *(\d+) tests completed and passed residual checks", text, "count of passed checks")
    failed = number(r"^ *(\d+) tests completed and failed residual checks", text, "count of failed checks")
    worst = max(float(residual) for _, residual in rows)
    good = failed == 0 and passed == len(rows) and all(check == "PASSED" for check, _ in rows) and worst < THRESHOLD
    return good, f"{passed:.0f} of {len(rows)} transpositions right, largest residual {worst:.2f}"


def dgemm(text):
    residual = number(r"^Scaled residual: (\S+)", text, "residual")
    return residual < THRESHOLD, f"residual {residual:.3g}"


def stream(text):
    good = re.search(r"^Solution Validates: avg error less than", text, re.M) is not None
    return good, "arrays right" if good else "arrays not found right"


def fft(text):
    error = number(r"^max\(\|x-x0\|\): (\S+)", text, "error of the inverse transform")
    size = number(r"^Vector size: +(\d+)", text, "size")
    scaled = error / math.log(size) / EPSILON
    return scaled < THRESHOLD, f"largest error {error:.2g} after the inverse transform"  # NaN is not below it


def latency_bandwidth(text):
    """First and last byte of each message are checked; what is wrong is told."""
    wrong = len(re.findall("ERROR", text))
    rate = number(r"^Randomly +Ordered Ring Bandwidth: +(\S+) MB/s", text, "result")
    return wrong == 0 and rate > 0, f"{wrong} wrong messages, random ring {rate:.0f} MB/s a rank"


def hpl(text):
    rows = re.findall(r"^\|\|Ax-b\|\|_oo/\(eps\*.*\)= *(\S+) \.+ (\w+)", text, re.M)
    if not rows:
        raise Missing("no residual")
    passed = number(r"^ *(\d+) tests completed and passed residual checks", text, "count of passed checks")
    failed = number(r"^ *(\d+) tests completed and failed residual checks", text, "count of failed checks")
    good = failed == 0 and passed == len(rows) and all(float(r) < THRESHOLD and v == "PASSED" for r, v in rows)
    return good, f"residual {', '.join(r for r, _ in rows)} (below {THRESHOLD:.0f} is wanted)"


CHECKS = {
    "MPIRandomAccess": random_access, "StarRandomAccess": star(random_access), "SingleRandomAccess": all_nodes,
    "PTRANS": ptrans, "StarDGEMM": star(dgemm), "SingleDGEMM": all_nodes, "StarSTREAM": star(stream), "SingleSTREAM": all_nodes,
    "MPIFFT": fft, "StarFFT": star(fft), "SingleFFT": all_nodes, "LatencyBandwidth": latency_bandwidth, "HPL": hpl,
}


def judge_section(name, text):
    body = re.search(rf"^Begin of {name} section\.$(.*?)^End of {name} section\.$", text, re.M | re.S)
    if not body:
        begun = re.search(rf"^Begin of {name} section\.$", text, re.M)
        return Verdict(name, False, "did not end" if begun else "did not run")
    try:
        passed, why = CHECKS[name.removesuffix("_LCG")](body.group(1))
    except (Missing, ValueError) as problem:
        return Verdict(name, False, str(problem))
    return Verdict(name, passed, why)


def judge(text):
    """The verdicts of all tests and of the whole, in order."""
    verdicts = [judge_section(name, text) for name in SECTIONS]
    success = summary(text).get("Success")
    ended = re.search(r"^End of HPC Challenge tests\.$", text, re.M) is not None
    verdicts.append(Verdict("HPCC as a whole", success == "1" and ended,
                            f"Success={success or 'missing'}" + ("" if ended else ", and it did not end")))
    return verdicts


def summary(text):
    """The last section's `name=value` lines."""
    body = re.search(r"^Begin of Summary section\.$(.*)", text, re.M | re.S)
    return dict(re.findall(r"^(\w+)=(.*)$", body.group(1), re.M)) if body else {}


def sections_seen(text):
    """How far it got: names of the tests that have begun, and of those that have ended."""
    return [[name for name in re.findall(rf"^{end} of (\w+) section\.$", text, re.M) if name in SECTIONS]
            for end in ("Begin", "End")]


def show(verdicts, file=sys.stdout):
    for verdict in verdicts:
        print(f"  {verdict.test:<24} {'PASSED' if verdict.passed else 'FAILED'}   {verdict.why}", file=file)


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        verdicts = judge(file.read())
    show(verdicts)
    failed = [verdict.test for verdict in verdicts if not verdict.passed]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
