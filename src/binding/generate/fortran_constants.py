"""The named constants of the Fortran interfaces, from constants.table, and mpif.h."""

KINDS = {"MPI_ADDRESS_KIND": 8, "MPI_COUNT_KIND": 8, "MPI_OFFSET_KIND": 8, "MPI_INTEGER_KIND": 4}
# Strings are without C's null character.
MAX_LENGTHS = ("MPI_MAX_",)
C_ONLY = ("MPI_T_", "MPI_F_", "MPIX_C_", "MPI_ABI_")
# Of MPICH's mpif.h, which C has not: an INTEGER*16 that it does without, and combiners that are gone.
MPICH_ONLY = [("MPI_INTEGER16", 0x0c000000, "MPI_Datatype"), ("MPI_COMBINER_HVECTOR_INTEGER", 5, ""),
              ("MPI_COMBINER_HINDEXED_INTEGER", 8, ""), ("MPI_COMBINER_STRUCT_INTEGER", 11, "")]


def signed(value):
    """As an INTEGER of four bytes has it: handles of MPICH's ABI may have the highest bit set."""
    number = int(value, 0)
    return number - (1 << 32) if number >= 1 << 31 else number


def status_size(abi):
    return {"standard": 8, "mpich": 5}[abi]


def status_fields(abi):
    """Indices of MPI_SOURCE, MPI_TAG, MPI_ERROR in a status, which count from 1."""
    first = {"standard": 1, "mpich": 3}[abi]
    return {"MPI_SOURCE": first, "MPI_TAG": first + 1, "MPI_ERROR": first + 2}


def value_of(constant, abi):
    number = signed(constant.values[abi])
    if constant.name.startswith(MAX_LENGTHS):
        return number - 1
    if abi == "mpich" and constant.detail == "keyval" and constant.name != "MPI_KEYVAL_INVALID":
        return number + 1  # MPICH's predefined attributes have another keyval in Fortran
    return number


def numbers(constants, abi):
    """(name, value, C type of handles or "") of constants that are INTEGERs or handles."""
    by_name = {c.name: c for c in constants}
    rows = []
    for constant in constants:
        target = by_name[constant.values["standard"]] if constant.form == "same" else constant
        if target.form not in ("handle", "int", "bits") or abi not in target.values:
            continue
        if constant.name.startswith(C_ONLY):
            continue
        rows.append((constant.name, value_of(target, abi), target.detail if target.form == "handle" else ""))
    return rows + (MPICH_ONLY if abi == "mpich" else [])


def plain_numbers(abi):
    return [*KINDS.items(), ("MPI_STATUS_SIZE", status_size(abi)), *status_fields(abi).items()]


def displacement_current(constants, abi):
    return next(c for c in constants if c.name == "MPI_DISPLACEMENT_CURRENT").values[abi]


COMMONS = """\
      integer MPI_BOTTOM, MPI_IN_PLACE
      integer MPI_STATUS_IGNORE(MPI_STATUS_SIZE)
      common /MPIPRIV1/ MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE
      save /MPIPRIV1/
      integer MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)
      integer MPI_ERRCODES_IGNORE(1)
      common /MPIPRIV2/ MPI_STATUSES_IGNORE, MPI_ERRCODES_IGNORE
      save /MPIPRIV2/
      character*1 MPI_ARGVS_NULL(1,1), MPI_ARGV_NULL(1)
      common /MPIPRIVC/ MPI_ARGVS_NULL, MPI_ARGV_NULL
      save /MPIPRIVC/
      integer MPI_UNWEIGHTED(1)
      common /MPIFCMB5/ MPI_UNWEIGHTED
      save /MPIFCMB5/
      integer MPI_WEIGHTS_EMPTY(1)
      common /MPIFCMB9/ MPI_WEIGHTS_EMPTY
      save /MPIFCMB9/
      integer MPI_BUFFER_AUTOMATIC, MPI_HAWSER_MEASURE
      common /MPIHAWSER/ MPI_BUFFER_AUTOMATIC, MPI_HAWSER_MEASURE
      save /MPIHAWSER/
"""

PROCEDURES = ("MPI_DUP_FN", "MPI_NULL_COPY_FN", "MPI_NULL_DELETE_FN", "MPI_COMM_DUP_FN", "MPI_COMM_NULL_COPY_FN",
              "MPI_COMM_NULL_DELETE_FN", "MPI_TYPE_DUP_FN", "MPI_TYPE_NULL_COPY_FN", "MPI_TYPE_NULL_DELETE_FN",
              "MPI_WIN_DUP_FN", "MPI_WIN_NULL_COPY_FN", "MPI_WIN_NULL_DELETE_FN", "MPI_CONVERSION_FN_NULL")


def constants_text(constants, abi):
    """Declarations that are valid in fixed and in free form; for mpif.h and the module mpi."""
    lines = []
    for name, value in plain_numbers(abi) + [(n, v) for n, v, _ in numbers(constants, abi)]:
        lines += [f"      integer {name}", f"      parameter ({name}={value})"]
    lines += ["      integer*8 MPI_DISPLACEMENT_CURRENT",
              f"      parameter (MPI_DISPLACEMENT_CURRENT={displacement_current(constants, abi)})"]
    for name in ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"):
        lines += [f"      logical {name}", f"      parameter ({name}=.false.)"]
    return "\n".join(lines) + "\n" + COMMONS


def mpif_header(constants, abi):
    lines = ["! mpif.h of Hawser. Generated from src/binding; do not edit. Valid in fixed and in free form.",
             constants_text(constants, abi).rstrip("\n")]
    for prefix in ("", "P"):
        for name in ("WTIME", "WTICK"):
            lines += [f"      real*8 {prefix}MPI_{name}", f"      external {prefix}MPI_{name}"]
        for name in ("ADD", "DIFF"):
            lines += [f"      integer*8 {prefix}MPI_AINT_{name}", f"      external {prefix}MPI_AINT_{name}"]
    lines += [f"      external {name}" for name in PROCEDURES]
    return "\n".join(lines) + "\n"
