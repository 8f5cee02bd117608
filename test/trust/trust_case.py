"""What the tests of this folder share: jobs of another user's, and what belongs to them."""
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from cases import main, read_until  # noqa: E402, F401

LIMIT = 240  # seconds; only what waits for ever needs as long
RANKS = 4
PLACES = {
    "shared memory": [],
    "sockets": ["-hosts", "a,b", "-ppn", "2", "-x", "HAWSER_NETWORK=socket"],
    "rails": ["--fabric", "two-switch --hosts 2", "-ppn", "2", "-x", "HAWSER_NETWORK=rails"],
}


def compiled(folder, *sources):
    for source in sources:
        subprocess.run([BUILD / "bin/mpicc", "-O1", "-Wall", "-Werror", "-o", f"{folder}/{source}", HERE / f"{source}.c"],
                       check=True)


def ordinary_user(name):
    """What subprocess needs to run something as this user."""
    user = pwd.getpwnam(name)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": "/"}


def readable_copy(case):
    """What jobs need of the build, where every user may read it; the build itself may be where others must not look."""
    folder = tempfile.TemporaryDirectory(prefix="hawser-trust-")
    case.addClassCleanup(folder.cleanup)
    os.chmod(folder.name, 0o755)
    place = pathlib.Path(folder.name)
    (place / "bin").mkdir()
    for program in ("mpiexec", "hawser", "hawser-fabricd"):
        shutil.copy(BUILD / "bin" / program, place / "bin")
    shutil.copytree(BUILD / "lib", place / "lib", symlinks=True, ignore=shutil.ignore_patterns("*.a", "*.mod", "pkgconfig"))
    compiled(folder.name, "exchange")
    return place


class Job:
    """A job of `exchange` with four ranks, and what belongs to it."""

    def __init__(self, case, folder, place, *, gate=None, **who):
        self.case = case
        self.process = subprocess.Popen(
            [folder / "bin/mpiexec", *PLACES[place], "-n", str(RANKS), folder / "exchange", *([gate] if gate else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "LD_LIBRARY_PATH": f"{folder}/lib"}, **who)
        case.addCleanup(self.process.communicate)
        case.addCleanup(self.process.kill)
        seen = read_until(lambda seen: seen.count(b"\n") == RANKS, self.process.stdout.fileno())
        self.ranks = [int(pid) for _, pid in sorted(re.findall(rb"rank (\d) is (\d+)\n", seen))]
        case.assertEqual(len(self.ranks), RANKS, seen)

    def another_round(self):
        """The ranks still talk to each other."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        line = read_until(lambda seen: seen.endswith(b"\n"), self.process.stdout.fileno())
        self.case.assertRegex(line, rb"^round \d+\n$")

    def ends_well(self):
        output, errors = self.process.communicate(timeout=LIMIT)
        self.case.assertEqual((self.process.returncode, output, errors), (0, b"all right\n", b""))

    def sockets(self):
        """Names of local sockets of the job's processes, and their TCP ports."""
        inodes = set()
        for pid in [self.process.pid, *self.ranks]:
            for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                inodes.update(re.findall(r"^socket:\[(\d+)\]$", os.readlink(entry)))
        local = [line.split() for line in pathlib.Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]]
        names = [words[7][1:] for words in local if words[6] in inodes and len(words) > 7 and words[7].startswith("@")]
        tcp = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
        return names, [int(words[1].split(":")[1], 16) for words in tcp if words[9] in inodes and words[3] == "0A"]
