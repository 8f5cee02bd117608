"""The machines of V07, chapters 9 and 10, as fabrics, and runs of them with faults."""
import pathlib
import tempfile

from reproduce.simulated import PACKETS, Cluster, simulate

# V07 10.4.2: 880 MB/s one way and 931 both ways through a PCI-X bus (the InfiniBand adapter), about 100 MB/s (the
# Ethernet adapter, on the other I/O bridge). The testbed of chapter 9 has adapters of the same generation. Latencies are ours.
BUS = PACKETS + "bus-rate 931MB/s\nbus half\n"
FAST, SLOW = "880MB/s", "100MB/s"
FAST_LATENCY, SLOW_LATENCY = "1us", "5us"
# Buffers stay registered.
REGISTERED = ("--registration-cost", "0us")


def two_networks(hosts, fast):
    """Hosts on an InfiniBand switch (rail 0) and an Ethernet switch (rail 1); only the first `fast` have InfiniBand."""
    lines = [BUS]
    for host in range(hosts):
        if host >= fast:
            lines.append(f"host n{host} n{host}/hw1\n")
        else:
            lines.append(f"link n{host}/hw0 rate {FAST} latency {FAST_LATENCY}\n")
        lines.append(f"link n{host}/hw1 rate {SLOW} latency {SLOW_LATENCY}\n")
    return Cluster(FAST, FAST_LATENCY, rails=2, fabric="two-switch", parameters="".join(lines),
                   options=("--hosts", hosts, *REGISTERED))


def one_network(rate, latency, hosts):
    return Cluster(rate, latency, fabric="single-switch", parameters=BUS, options=("--hosts", hosts, *REGISTERED))


def two_ports(*options, parameters=BUS):
    """One adapter with two ports on one switch (V07 9.4.1); both ports share its bus."""
    return Cluster(FAST, FAST_LATENCY, fabric="single-switch", parameters=parameters,
                   options=("--ports", 2, *REGISTERED, *options))


def with_faults(build, cluster, ranks, program, *arguments, faults=(), options=(), **more):
    """`faults`: (seconds, what)."""
    if not faults:
        return simulate(build, cluster, ranks, program, *arguments, options=options, **more)
    with tempfile.TemporaryDirectory(prefix="hawser-experiment-") as folder:
        file = pathlib.Path(folder) / "faults"
        file.write_text("".join(f"{at:.9f} {what}\n" for at, what in faults), encoding="ascii")
        return simulate(build, cluster, ranks, program, *arguments, options=(*options, "--faults", file), **more)
