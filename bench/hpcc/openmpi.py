"""How Debian's Open MPI runs a program on the hosts of a virtual fabric, each a node of its own (doc/emulator.md)."""
import re

from runner import HOSTS

TRANSPORTS = {
    "openib": ("--mca", "pml", "ob1", "--mca", "btl", "openib,self", "--mca", "btl_openib_allow_ib", "1"),
    # Without this UCX gives up on the datagrams that connect it when a rank waits 30 s for a core.
    "UCX rc_v": ("--mca", "pml", "ucx", "--mca", "osc", "ucx", "-x", "UCX_TLS=rc_v,self", "-x", "UCX_UD_TIMEOUT=10m"),
}
# What mpirun takes for ssh. Each daemon has folders of its own, as on a machine of its own.
SHELL = """#!/bin/sh
host=$1
shift
export TMPDIR={folder}/$host
export OMPI_MCA_osc_rdma_backing_directory=$TMPDIR
mkdir -p $TMPDIR
exec {hawser} fabric run --name {name} --host $host -- sh -c "$*"
"""


def command(testbed, program, ranks, transport):
    def words(fabric):
        shell = testbed.folder / f"shell-{fabric.name}"
        shell.write_text(SHELL.format(folder=testbed.folder, hawser=testbed.bin / "hawser", name=fabric.name), encoding="ascii")
        shell.chmod(0o755)
        hosts = ",".join(f"n{host}:{ranks // HOSTS}" for host in range(HOSTS))
        return ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1",
                "--mca", "plm_rsh_agent", shell, "-host", hosts, "-np", ranks, *TRANSPORTS[transport], program]
    return words


def errors(output, most=6):
    """The first lines that say what went wrong, without traces of the stack."""
    found = [line.strip() for line in output.splitlines()
             if re.search(r"error|failed|abort|retr(y|ies)|exceeded|disconnect|timeout|fatal|signal", line, re.I)
             and not re.search(r"\.so\b|\*\*\*", line)]
    return list(dict.fromkeys(found))[:most]
