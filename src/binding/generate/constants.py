"""Reads constants.table: the constants of MPI and their values in the two ABIs."""

from dataclasses import dataclass
from pathlib import Path

ABIS = ("standard", "mpich")


@dataclass(frozen=True)
class Constant:
    name: str
    form: str  # handle, int, bits, typed, same
    detail: str  # the C type, or the kind of parameter that it is translated as ("" for none)
    values: dict[str, str]  # by ABI; an absent ABI has no such constant
    number: str = ""  # of a handle: the standard ABI's value, or the one in brackets that the core knows it by

    def definition(self, abi):
        """The C preprocessor's text, or None."""
        value = self.values.get(abi)
        if value is None:
            return None
        if self.form in ("handle", "typed"):
            return f"(({self.detail}){value})"
        return f"({value})" if value.startswith("-") else value


def read_constants(directory):
    constants, form, detail = [], None, ""
    for line in (Path(directory) / "constants.table").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            form, _, detail = line.strip("[] ").partition(" ")
            continue
        name, *values = line.split()
        if form == "same":
            values = [values[0], values[0]]
        present = {abi: v for abi, v in zip(ABIS, values) if v != "-" and not v.startswith("(")}
        number = values[0].strip("()") if form == "handle" and values[0] != "-" else ""
        constants.append(Constant(name, form, detail, present, number))
    return constants


def of_kind(constants, kind):
    """The constants that parameters of this kind may be."""
    return [c for c in constants if c.form in ("int", "bits") and c.detail == kind]
