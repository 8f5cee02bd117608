#!/usr/bin/env python3
"""Debian's NWChem (Global Arrays over ARMCI over windows of MPI, in MPICH's ABI) with Hawser's libraries: energies of
water and benzene with one rank, and whether other numbers of ranks and other networks give the same.

Networks: shared memory; two virtual nodes over sockets; 4 hosts with 2 rails, whole and with cables that are pulled. ARMCI's memory
is that of MPI_Win_allocate or its own (ARMCI_USE_WIN_ALLOCATE). Energies must agree to the given number of digits behind the
point. Exit code 1 if one does not, 2 if something did not work.
"""
import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "python"))
from hawser_lab import Failed  # noqa: E402
from hawser_lab.fabric import Fabric  # noqa: E402

MOLECULES = ["water", "benzene"]
HOSTS, RAILS = 4, 2
PULLED_FOR = 600  # seconds for which cables are pulled; no run takes so long


def pulled_cables(seed, period):
    """In every period one cable, drawn at random, is out for a part of it; so each host always has another."""
    draw = random.Random(seed)
    lines = []
    for number in range(1, int(PULLED_FOR / period)):
        link = f"link n{draw.randrange(HOSTS)}/hw{draw.randrange(RAILS)}"
        begin = number * period
        lines += [f"{begin:.3f} {link} down", f"{begin + period * draw.uniform(0.1, 0.7):.3f} {link} up"]
    return lines


def energies(output):
    return [float(value) for value in re.findall(r"Total (?:SCF|DFT) energy\s*=\s*(-?\d+\.\d+)", output)]


class Lab:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.bin = options.build / "bin"

    def run(self, molecule, words, variables):
        """(energies, seconds) of one run."""
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.options.build / "lib"), **variables}
        command = [str(self.bin / "mpiexec"), *words, "nwchem.mpich", str(HERE / f"{molecule}.nw")]
        begin = time.monotonic()
        try:
            done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True,
                                  timeout=self.options.limit, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(command)}: not done after {self.options.limit:.0f} s") from None
        found = energies(done.stdout)
        if done.returncode != 0 or not found:
            raise Failed(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return found, time.monotonic() - begin

    def over_rails(self, molecule, pulled):
        name = f"nwchem-{os.getpid()}"
        with Fabric(self.bin / "hawser", name, "two-switch", "--hosts", HOSTS, "--rails", RAILS) as fabric:
            if pulled:
                fabric.schedule(pulled_cables(self.options.seed, self.options.period))
            return self.run(molecule, ["-n", "4", "--fabric", name], {"HAWSER_NETWORK": "rails"})

    def cases(self, molecule):
        """(label, function that runs it); the first is what the others must agree with."""
        yield "1 rank", lambda: self.run(molecule, ["-n", "1"], {})
        for allocate in ("1", "0"):
            memory = {"ARMCI_USE_WIN_ALLOCATE": allocate}
            for ranks in ("2", "4"):
                yield (f"{ranks} ranks, ARMCI_USE_WIN_ALLOCATE={allocate}",
                       lambda ranks=ranks, memory=memory: self.run(molecule, ["-n", ranks], memory))
        yield "4 ranks, 2 nodes, sockets", lambda: self.run(molecule, ["-n", "4", "-hosts", "n0,n1"], {"HAWSER_NETWORK": "socket"})
        yield "4 hosts, 2 rails", lambda: self.over_rails(molecule, False)
        yield "4 hosts, 2 rails, cables pulled", lambda: self.over_rails(molecule, True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="the folder of the build")
    parser.add_argument("--molecules", default=",".join(MOLECULES), help="some of %(default)s")
    parser.add_argument("--digits", type=int, default=8, help="behind the point (%(default)s)")
    parser.add_argument("--period", type=float, default=1.5, help="seconds from one pulled cable to the next (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the pulled cables (%(default)s)")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a run has failed (%(default)s)")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.molecules = options.molecules.split(",")
    if unknown := set(options.molecules) - set(MOLECULES):
        parser.error(f"unknown molecule {', '.join(sorted(unknown))}; there are {', '.join(MOLECULES)}")
    return options


def main():
    options = parse_arguments()
    wrong = 0
    try:
        with tempfile.TemporaryDirectory(prefix="hawser-nwchem-") as folder:
            lab = Lab(options, folder)
            for molecule in options.molecules:
                wanted = None
                for label, run in lab.cases(molecule):
                    found, seconds = run()
                    wanted = wanted or found
                    right = len(found) == len(wanted) and all(
                        abs(a - b) < 0.5 * 10**-options.digits for a, b in zip(found, wanted))
                    wrong += not right
                    print(f"{molecule:8} {label:36} {' '.join(f'{value:.12f}' for value in found)}  {seconds:6.1f} s"
                          f"{'' if right else '  WRONG'}", flush=True)
    except Failed as problem:
        print(f"nwchem: {problem}", file=sys.stderr)
        return 2
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
