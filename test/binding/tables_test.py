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
standard = [f for f in functions if f.abi is None and "extension" not in f.flags]
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
            known = p.length in ("size", "local_size", "indegree", "outdegree", "*")
            check(known, f"{function.name}: the length '{p.length}' of {p.name} is no parameter")
    if function.implemented and "hand" not in function.flags:
        core_signature(function)  # raises if a kind has no core type in this place

# A function is implemented if and only if the core defines it.
sources = "\n".join(path.read_text() for path in (root / "src/api").glob("*.cpp"))
for function in standard:
    if function.alias or function.flags & {"hand"}:
        continue
    defined = re.search(rf"^Result<> {function.core_name}\(", sources, re.M) is not None
    check(defined <= function.implemented, f"{function.name} is written in src/api but marked '-'")

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
errors = re.findall(r'^HAWSER_ERROR_CLASS\((\w+), (\d+), "(\w+):', (root / "src/mpi/error_classes.def").read_text(), re.M)
check(len(errors) > 60, "src/mpi/error_classes.def cannot be read")
special = {"success": "MPI_SUCCESS", "assertion": "MPI_ERR_ASSERT",
           **{name: f"MPIX_ERR_{name.upper()}" for name in ("proc_failed", "proc_failed_pending", "revoked")}}
for name, value, text in errors:
    constant = by_name.get(special.get(name, "MPI_ERR_" + name.upper()))
    check(constant is not None and constant.values["standard"] == value, f"ErrorClass::{name} is not {value}")
    check(constant is None or constant.name == text, f"what is said of ErrorClass::{name} begins with {text}")



def value(name):
    """In the standard ABI; second names lead to first ones."""
    text = by_name[name].values["standard"]
    return value(text) if text.startswith("MPI_") else int(text, 0)


# The list that the public header is compared with (abi_layout.c) has all constants and the table's values.
listed = re.findall(r"^CONSTANT\((\w+), (\S+)\)$", (root / "test/binding/standard_constants.def").read_text(), re.M)
for name, number in listed:
    known = name in by_name and "standard" in by_name[name].values
    check(known and value(name) == int(number, 0), f"{name} is not {number} in constants.table")
# The list is MPI's.
in_table = {c.name for c in constants if "standard" in c.values and not c.name.startswith("MPIX_")}
check(len(listed) == len(dict(listed)), "a constant stands in standard_constants.def twice")
check(in_table == set(dict(listed)), f"not in both lists: {sorted(in_table ^ set(dict(listed)))}")

CORE_NUMBERS = {
    "src/communicator/attribute.h": {"invalid": "MPI_KEYVAL_INVALID"} | {
        name: "MPI_" + name.upper() for name in
        ("tag_ub", "io", "host", "wtime_is_global", "appnum", "lastusedcode", "universe_size")},
    "src/communicator/group.h": {
        "identical": "MPI_IDENT", "congruent": "MPI_CONGRUENT", "similar": "MPI_SIMILAR", "unequal": "MPI_UNEQUAL"},
    "src/message/status.h": {
        "any_source": "MPI_ANY_SOURCE", "any_tag": "MPI_ANY_TAG", "proc_null": "MPI_PROC_NULL",
        "root_rank": "MPI_ROOT", "undefined": "MPI_UNDEFINED"},
    "src/process/thread_level.h": {
        "thread_" + name: "MPI_THREAD_" + name.upper() for name in ("single", "funneled", "serialized", "multiple")},
    "src/api/communicator.cpp": {
        "split_" + name: "MPI_COMM_TYPE_" + name.upper() for name in
        ("shared", "hw_unguided", "hw_guided", "resource_guided")},
    "src/api/datatype_constructors.cpp": {
        name: "MPI_" + name.upper().replace("DEFAULT_ARGUMENT", "DFLT_DARG") for name in
        ("order_c", "order_fortran", "distribute_none", "distribute_block", "distribute_cyclic",
         "distribute_default_argument", "typeclass_integer", "typeclass_real", "typeclass_complex")},
}
for path, names in CORE_NUMBERS.items():
    found = dict(re.findall(r"constexpr int (\w+) = (-?\w+);", (root / path).read_text()))
    for name, constant in names.items():
        check(name in found and int(found[name], 0) == value(constant), f"{path}: {name} is not {constant}")

# Added error codes must be larger than the last predefined one of either ABI.
last = re.search(r"last_predefined = (\w+);", (root / "src/process/error_codes.h").read_text())[1]
check(int(last, 0) == max(int(v, 0) for v in by_name["MPI_ERR_LASTCODE"].values.values()),
      "src/process/error_codes.h: last_predefined is not the larger MPI_ERR_LASTCODE")


def enumerators(path, name):
    text = re.search(rf"enum class {name}\b.*?\{{(.*?)\}};", (root / path).read_text(), re.S)[1]
    return re.findall(r"^\s*(\w+),", text, re.M)


def numbers(path, array):
    text = re.search(rf"{array}\S* = \{{(.*?)\}};", (root / path).read_text(), re.S)[1]
    return [int(number, 0) for number in re.findall(r"\w+", text)]


combiners = [value("MPI_COMBINER_" + name.upper().replace("STRUCTURE", "STRUCT"))
             for name in enumerators("src/datatype/datatype.h", "Combiner")]
check(numbers("src/api/datatype.cpp", "combiner_numbers") == combiners, "combiner_numbers are not MPI_COMBINER_*")
operators = [value("MPI_" + name.upper()) for name in enumerators("src/datatype/operator.h", "PredefinedOperator")]
check(numbers("src/datatype/operator.h", "predefined_operator_numbers") == operators,
      "predefined_operator_numbers are not the operations'")

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
