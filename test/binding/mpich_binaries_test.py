"""Programs that were compiled and linked with MPICH itself run on our libmpich.so.12 unchanged: this folder's own
tests, and NetPIPE as Debian ships it."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from cases import leave, missing  # noqa: E402

build = Path(sys.argv[1]).resolve()
absent = missing("mpicc.mpich", "/usr/bin/NPmpich2")
if absent:
    leave(absent)
compiler = shutil.which("mpicc.mpich")
environment = {**os.environ, "LD_LIBRARY_PATH": str(build / "lib")}
failures = 0


def run(what, *command):
    global failures
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment, timeout=300)
    if result.returncode != 0:
        failures += 1
        print(f"{what} ends with {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")


with tempfile.TemporaryDirectory() as directory:
    for name in ("argument_errors", "callbacks"):
        program = Path(directory) / name
        source = Path(__file__).parent / f"{name}.c"
        subprocess.run([compiler, "-w", "-DHAWSER_ABI_OF_MPICH", source, "-o", program], check=True)
        loaded = subprocess.run(["ldd", program], capture_output=True, text=True, env=environment).stdout
        if f"{build}/lib/libmpich.so.12" not in loaded:
            failures += 1
            print(f"{name} does not load our library:\n{loaded}")
        run(name, program)
    run("NPmpich2", build / "bin/mpiexec", "-n", 2, "NPmpich2", "-u", 256, "-n", 3, "-o", f"{directory}/np.out")

print(f"{failures} problems")
sys.exit(1 if failures else 0)
