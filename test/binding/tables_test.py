"""The tables agree with themselves, with MPI-5.0's counts, and with what the core knows by number."""

import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
sys.path.insert(0, str(root / "src/binding/generate"))

from constants import read_constants  # noqa: E402
from core_types import core_signature  # noqa: E402
from kinds import KINDS  # noqa: E402
from table import read_functions  # noqa: E402

failures = []


def check(condition, text):
    if not condition:
        failures.append(text)


functions = read_functions(root / "src/binding")
standard = [f for f in functions if f.abi is None]
check(len(standard) == 503, f"MPI-5.0 has 503 functions, the tables {len(standard)}")
large = sum(1 for f in standard if "large" in f.flags)
check(large == 161, f"MPI-5.0 has 161 large-count forms, the tables {large}")

for function in functions:
    names = [p.name for p in function.parameters]
    check(len(set(names)) == len(names), f"{function.name}: a parameter's name occurs twice")
    widened = [p for p in function.parameters if KINDS[p.kind].c != KINDS[p.kind].large or p.flags & {"large_only"}]
    check(bool(widened) == ("large" in function.flags) or function.abi,
          f"{function.name}: the mark `large` and the kinds of its parameters disagree")
    for p in function.parameters:
        if p.array and p.length not in names:
            known = p.length in ("size", "indegree", "outdegree", "*")
            check(known, f"{function.name}: the length '{p.length}' of {p.name} is no parameter")
    if function.implemented and "hand" not in function.flags:
        core_signature(function)  # raises if a kind has no core type in this place

# A function is implemented if and only if the core defines it.
sources = "\n".join(path.read_text() for path in (root / "src/process/api").glob("*.cpp"))
for function in standard:
    if function.alias or function.flags & {"hand"}:
        continue
    defined = re.search(rf"^Result<> {function.core_name}\(", sources, re.M) is not None
    check(defined <= function.implemented, f"{function.name} is written in src/process/api but marked '-'")

constants = read_constants(root / "src/binding")
for abi in ("standard", "mpich"):
    seen = {}
    for constant in constants:
        if constant.form != "handle" or abi not in constant.values:
            continue
        key = (constant.detail, int(constant.values[abi], 0))
        check(key not in seen, f"{abi}: {constant.name} and {seen.get(key)} are the same handle")
        seen[key] = constant.name
names = [c.name for c in constants]
check(len(set(names)) == len(names), "a constant stands in constants.table twice")
by_name = {c.name: c for c in constants}

# Numbers that the core has in sources of its own.
errors = re.search(r"enum class ErrorClass.*?\{(.*?)\};", (root / "src/base/result.h").read_text(), re.S)[1]
special = {"success": "MPI_SUCCESS", "assertion": "MPI_ERR_ASSERT"}
for name, value in re.findall(r"(\w+) = (\d+)", errors):
    constant = by_name.get(special.get(name, "MPI_ERR_" + name.upper()))
    check(constant is not None and constant.values["standard"] == value, f"ErrorClass::{name} is not {value}")

types = (root / "src/datatype/predefined_types.def").read_text()
for name, number in re.findall(r"HAWSER_PREDEFINED(?:_PAIR)?\(\w+, (\w+), (0x[0-9a-f]+)", types):
    if int(number, 16) < 0x3F0:
        constant = by_name.get("MPI_" + name)
        check(constant is not None and int(constant.values["standard"], 16) == int(number, 16),
              f"the datatype {name} is {number} in datatype/, but not in constants.table")

for failure in failures:
    print(failure)
print(f"{len(functions)} functions, {len(constants)} constants, {len(failures)} problems")
sys.exit(1 if failures else 0)
