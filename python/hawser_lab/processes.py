"""Programs that are started, asked for a line, waited for, and ended; ports that they listen on."""
import contextlib
import os
import socket
import subprocess
import threading
import time

PATIENCE = int(os.environ.get("HAWSER_LAB_PATIENCE", "120"))  # seconds; only a hang takes so long


class Failed(Exception):
    """Something did not work; a measurement that misses its criterion is not that."""


def monotonic():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def start(command, **how):
    """A program whose output is read, both streams as one."""
    return subprocess.Popen([str(word) for word in command],
                            **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **how})


def finish(process, patience=PATIENCE):
    """What it printed, once it has ended well."""
    try:
        output, _ = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(process.args)} hangs") from None
    if process.returncode != 0:
        raise Failed(f"{' '.join(process.args)}: exit code {process.returncode}\n{output}")
    return output


def end_all(processes):
    """Those that still run are killed."""
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def read_line(process, patience=PATIENCE):
    """The next line that it prints; empty if it has ended."""
    # Not by select: a line that came together with the one before is in the stream's buffer, where select sees nothing.
    found = []
    reader = threading.Thread(target=lambda: found.append(process.stdout.readline()), daemon=True)
    reader.start()
    reader.join(patience)
    if not found:
        raise Failed(f"{' '.join(process.args)} hangs")
    return found[0]


def expect_line(process, line):
    found = read_line(process)
    if found != line + "\n":
        raise Failed(f"{' '.join(process.args)} does not start: {found}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def listens(port):
    wanted = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError), open(table, encoding="ascii") as lines:
            for line in lines:
                fields = line.split()
                if len(fields) > 3 and fields[1].endswith(wanted) and fields[3] == "0A":
                    return True
    return False


def wait_until_listens(process, port):
    end = time.monotonic() + PATIENCE
    while not listens(port):
        if process.poll() is not None or time.monotonic() > end:
            raise Failed(f"{' '.join(process.args)} does not listen")
        time.sleep(0.01)
