"""The signature of a core function hawser::mpi::x, from its line in the table."""

from kinds import KINDS

ARRAYS_IN = {
    "number": "IntegerArray",
    "translated": "const int*",
    "int": "const int*",
    "logical": "const int*",
    "weights": "const int*",
    "triplet": "const int (*)[3]",
    "string": "const char* const*",
}
ARRAYS_OUT = {"number": "std::int64_t*", "translated": "int*", "int": "int*", "logical": "int*", "weights": "int*",
              "status": "Status*"}


def array_type(parameter, kind):
    if kind.group in ("handle", "handle_or_null", "request"):
        pointee = kind.core.rstrip("*& ")
        if parameter.direction == "in":
            return f"std::span<{pointee}* const>"
        return f"std::span<{pointee}*>" if kind.group == "request" else f"std::span<Ref<{pointee}>>"
    table = ARRAYS_IN if parameter.direction == "in" else ARRAYS_OUT
    return table[kind.group]


def scalar_type(parameter, kind):
    direction = parameter.direction
    if kind.group == "buffer":
        return "const void*" if direction == "in" else "void*"
    if kind.group == "status":
        return {"in": "const Status&", "inout": "Status&"}.get(direction, "Status*")
    if kind.group in ("request", "message"):
        return kind.core if direction == "in" else kind.core + "&"
    if direction == "in":
        return kind.core
    if direction == "inout" and kind.group == "handle":
        return kind.core
    if direction == "free":
        return f"{kind.core.rstrip('*&')}&" if kind.group in ("handle", "handle_or_null") else kind.core
    return kind.core_out


def core_type(parameter):
    kind = KINDS[parameter.kind]
    return array_type(parameter, kind) if parameter.array else scalar_type(parameter, kind)


def implied_lengths(function):
    """The lengths that the core does not get, because spans of requests know them."""
    return {p.length for p in function.parameters if p.kind == "request" and p.array}


def core_parameters(function):
    """The parameters that the core function gets, in order."""
    implied = implied_lengths(function)
    return [p for p in function.parameters
            if KINDS[p.kind].group not in ("resultlen",) and p.kind not in ("argc", "argv")
            and not (p.kind == "length" and p.name in implied)]


def core_signature(function):
    texts = ["MpiProcess& process"]
    for parameter in core_parameters(function):
        texts.append(declare(core_type(parameter), parameter.name))
    if "tells_large" in function.flags:
        texts.append("bool large")
    return f"Result<> {function.core_name}({', '.join(texts)})"


def declare(type_text, name):
    if "(*)" in type_text:
        return type_text.replace("(*)", f"(*{name})")
    return f"{type_text} {name}"
