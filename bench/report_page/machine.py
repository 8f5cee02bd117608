"""What was measured where: machine, versions, date."""
import datetime
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def first_line(*command, pattern=".*"):
    """What a program says of itself; empty where it is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=ROOT, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    found = re.search(pattern, done.stdout or done.stderr)
    return found.group(0).strip() if found and done.returncode == 0 else ""


def file_value(path, pattern):
    try:
        found = re.search(pattern, pathlib.Path(path).read_text(encoding="utf-8", errors="replace"), re.M)
    except OSError:
        return ""
    return found.group(1).strip() if found else ""


def cache(build, name):
    return file_value(pathlib.Path(build) / "CMakeCache.txt", rf"^{name}:\w+=(.*)$")


def look(build):
    """{what: text}, in the order in which it is shown."""
    commit = first_line("git", "log", "-1", "--format=%h of %cs: %s")
    changed = first_line("git", "status", "--porcelain", "--untracked-files=no")
    packages = {
        name: first_line("dpkg-query", "-W", "-f=${Version}", name)
        for name in ("mpich", "openmpi-bin", "perftest")
    }
    compiler = cache(build, "CMAKE_CXX_COMPILER")
    memory = int(file_value("/proc/meminfo", r"^MemTotal: *(\d+)") or 0) / 1e6
    return {
        "Hawser": (commit or "not a git tree") + (
            " (with changes that are not committed)" if changed else ""
        ),
        "build": (
            f"{build}, {cache(build, 'CMAKE_BUILD_TYPE') or 'of unknown type'},"
            f" {first_line(compiler, '--version') if compiler else 'unknown compiler'}"
        ),
        "MPICH": (
            first_line("mpichversion", pattern=r"(?<=Version:).*")
            + f" (package {packages['mpich'] or 'not installed'})"
        ),
        "Open MPI": (
            first_line("mpirun.openmpi", "--version", pattern=r"(?<=\) ).*")
            + f" (package {packages['openmpi-bin'] or 'not installed'})"
        ),
        "perftest (ib_write_bw, ib_send_lat)": packages["perftest"] or "not installed",
        "processor": (
            f"{file_value('/proc/cpuinfo', r'^model name.*: (.*)$') or platform.machine()},"
            f" {os.cpu_count()} cores"
        ),
        "memory": f"{memory:.1f} GB",
        "system": (
            f"{file_value('/etc/os-release', r'^PRETTY_NAME=.(.*).$')}, Linux {platform.release()}, Python"
            f" {platform.python_version()}"
        ),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }
