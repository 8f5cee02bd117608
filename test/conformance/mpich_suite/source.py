"""Debian's source of MPICH, and the programs of its test suite built by a compiler wrapper.

Everything lies in a cache folder that git ignores: apt's lists and the source package, the unpacked test/mpi, and one
configured tree for each compiler. The machine's own configuration of apt stays as it is.
"""
import os
import shutil
import subprocess
from pathlib import Path

VERSION = "4.0.2"
SOURCES = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] " \
          "http://deb.debian.org/debian bookworm main\n"
CONFIGURE = ["--disable-cxx", "--disable-shared", "--disable-spawn", "--disable-dependency-tracking"]
ONLY_IN_MPICH = ' -a "$FROM_MPICH" = "yes"'
# What some programs of the suite call and the standard ABI does not have: functions that MPI-3 removed, the
# profiling names of conversions that mpi.h has as macros, and what MPICH 4.0 offered before the standard did.
HANDLES = ["Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Win"]
OTHER_NAMES = {
    "MPI_Address": "MPI_Get_address",
    "MPI_Errhandler_create": "MPI_Comm_create_errhandler",
    "MPI_Errhandler_get": "MPI_Comm_get_errhandler",
    "MPI_Errhandler_set": "MPI_Comm_set_errhandler",
    "MPI_Handler_function": "MPI_Comm_errhandler_function",
    "MPI_Type_hindexed": "MPI_Type_create_hindexed",
    "MPI_Type_hvector": "MPI_Type_create_hvector",
    "MPI_Type_struct": "MPI_Type_create_struct",
    **{f"MPI{prefix}_Delete_error_{what}": f"MPI_Remove_error_{what}"
       for prefix in ("", "X") for what in ("class", "code", "string")},
    **{f"PMPI_{handle}_{old}": f"PMPI_{handle}_{new}" for handle in HANDLES
       for old, new in (("c2f", "toint"), ("f2c", "fromint"))},
}


class Failed(Exception):
    """What could not be fetched, configured or built, in a sentence."""


def logged(command, log, **more):
    """Runs a command whose output goes to a file; True if it succeeded."""
    with open(log, "ab") as output:
        return subprocess.run(command, stdout=output, stderr=output, check=False, **more).returncode == 0


def fetch(cache):
    """The folder test/mpi of the source, downloaded unless it is there."""
    tree = cache / f"mpich-{VERSION}"
    suite = tree / "test" / "mpi"
    if (suite / "configure").exists():
        return suite
    apt = cache / "apt"
    (apt / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (apt / "cache").mkdir(exist_ok=True)
    (apt / "sources.list").write_text(SOURCES, encoding="ascii")
    options = ["-o", f"Dir::Etc::sourcelist={apt}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null",
               "-o", f"Dir::State::lists={apt}/lists", "-o", f"Dir::Cache={apt}/cache",
               "-o", "APT::Sandbox::User=root"]
    log = cache / "fetch.log"
    for command in (["apt-get", *options, "update"],
                    ["apt-get", *options, "source", "--download-only", f"mpich={VERSION}-3"],
                    ["tar", "xf", f"mpich_{VERSION}.orig.tar.xz", f"mpich-{VERSION}/test/mpi"]):
        if not logged(command, log, cwd=cache):
            shutil.rmtree(tree, ignore_errors=True)
            raise Failed(f"'{' '.join(command[-3:])}' failed; see {log}")
    return suite


class Programs:
    """A configured tree of the suite, whose programs a compiler wrapper builds."""

    def __init__(self, suite, folder, compiler, fortran=None, standard=False, large=False):
        self.suite, self.folder = suite, folder
        self.compiler, self.fortran = compiler, fortran
        self.definitions = [f"-D{old}={new}" for old, new in OTHER_NAMES.items()] if standard else []
        self.large = large
        self.log = folder / "build.log"

    def configure(self):
        """Anew if the options are others than last time."""
        command = [str(self.script()), f"MPICC={self.compiler}", *CONFIGURE, "--enable-xfail"]
        if self.fortran:
            command += [f"MPIF77={self.fortran}", f"MPIFC={self.fortran}", "--enable-fortran=all"]
        else:
            command += ["--disable-fortran"]
        if self.large:
            command += ["--enable-large-tests"]
        done = self.folder / "configured_with"
        if done.exists() and done.read_text(encoding="utf-8") == "\n".join(command):
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        log = self.folder / "configure.log"
        if not logged(command, log, cwd=self.folder):
            raise Failed(f"configure failed; see {log}")
        done.write_text("\n".join(command), encoding="utf-8")

    def script(self):
        """The suite's configure, which leaves out mpi_f08 unless MPICH's own configure calls it: without that condition."""
        script = self.suite / "configure-with-f08"
        if not script.exists():
            text = (self.suite / "configure").read_text(encoding="latin-1")
            if text.count(ONLY_IN_MPICH) != 1:
                raise Failed(f"{self.suite}/configure has no condition '{ONLY_IN_MPICH}'")
            script.write_text(text.replace(ONLY_IN_MPICH, ""), encoding="latin-1")
            script.chmod(0o755)
        return script

    def make(self, directory, targets, jobs):
        flags = " ".join(self.definitions)
        command = ["make", "-k", "-s", f"-j{jobs}", "-C", str(self.folder / directory)]
        return logged([*command, f"CPPFLAGS={flags}", "CFLAGS=-O0", *targets], self.log)

    def libraries(self, jobs):
        """What all programs are linked with."""
        targets = ["libmtest_single.la", "libmtest_thread.la"]
        if self.fortran:
            targets += ["libmtest_f77.la", "libmtest_f90.la", "libmtest_f08.la"]
        if not self.make("dtpools", [], jobs) or not self.make("util", targets, jobs):
            raise Failed(f"the suite's own libraries could not be built; see {self.log}")

    def build(self, directory, names, jobs):
        """The names of the programs of a directory that could not be built."""
        wanted = [name for name in sorted(set(names)) if not self.path(directory, name).exists()]
        if wanted:
            self.make(directory, wanted, jobs)
        return {name for name in names if not os.access(self.path(directory, name), os.X_OK)}

    def path(self, directory, name):
        return self.folder / directory / name

    def lists(self, directory):
        """The lists of tests of a directory: configure's own when it made one."""
        for name in ("testlist", "testlist.dtp"):
            for place in (self.folder, self.suite):
                if (place / directory / name).exists():
                    yield Path(place / directory / name)
                    break
