"""How Debian's Open MPI runs a program on the hosts of a virtual fabric, each a node of its own (doc/emulator.md)."""
import pathlib
import re

OPENIB = ("--mca", "pml", "ob1", "--mca", "btl", "openib,self", "--mca", "btl_openib_allow_ib", "1")


def ucx(layers):
    """UCX gives up on datagrams, which also connect the other layers, after 30 s: on a crowded machine a rank waits longer."""
    return ("--mca", "pml", "ucx", "--mca", "osc", "ucx", "-x", f"UCX_TLS={layers},self", "-x", "UCX_UD_TIMEOUT=10m")


# More ranks than cores: a rank that waits lets the others run.
MPIRUN = ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1")
# What mpirun calls as `ssh HOST COMMAND`. Each daemon has folders of its own, as on a machine of its own.
REMOTE_SHELL = """#!/bin/sh
host=$1
shift
export TMPDIR={folder}/$host
export OMPI_MCA_osc_rdma_backing_directory=$TMPDIR
mkdir -p $TMPDIR
exec {hawser} fabric run --name {name} --host $host -- sh -c "$*"
"""


def mpirun(fabric, folder, hosts, ranks, transport, *program):
    """The words that run the program, its ranks spread evenly over the hosts. What they need lies in the folder."""
    shell = pathlib.Path(folder) / f"shell-{fabric.name}"
    shell.write_text(REMOTE_SHELL.format(folder=folder, hawser=fabric.hawser, name=fabric.name), encoding="ascii")
    shell.chmod(0o755)
    nodes = ",".join(f"{host}:{ranks // len(hosts)}" for host in hosts)
    return [*MPIRUN, "--mca", "plm_rsh_agent", str(shell), "-host", nodes, "-np", str(ranks), *transport, *map(str, program)]


def errors(output, most=6):
    """The first lines that say what went wrong, without traces of the stack."""
    found = [line.strip() for line in output.splitlines()
             if re.search(r"error|failed|abort|retr(y|ies)|exceeded|disconnect|timeout|fatal|signal", line, re.I)
             and not re.search(r"\.so\b|\*\*\*", line)]
    return list(dict.fromkeys(found))[:most]
