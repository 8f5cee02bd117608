#!/usr/bin/env python3
"""Tries, as another user, everything that a user of the same host can try against the processes of a job.

Reads from standard input, as JSON, the job's `uid`, `pids`, `names` of local sockets and TCP `ports`. Says in one line of
JSON how often what was tried, and what was not refused.
"""
import ctypes
import json
import os
import pathlib
import signal
import socket
import sys

tried, done = {}, []


def attempt(what, action):
    tried[what] = tried.get(what, 0) + 1
    try:
        action()
    except OSError:
        return
    done.append(what)


def read_memory(pid, address):
    """process_vm_readv of some bytes."""
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(16)
    here, there = Vector(ctypes.addressof(buffer), 16), Vector(address, 16)
    if library.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "process_vm_readv")


def pidfd_getfd(pid, number):
    handle = os.pidfd_open(pid)
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if library.syscall(438, handle, number, 0) < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
    finally:
        os.close(handle)


def processes(pids):
    for pid in pids:
        place = pathlib.Path(f"/proc/{pid}")
        assert place.exists()
        attempt("look at descriptors", lambda place=place: os.listdir(place / "fd"))
        for number in range(64):
            attempt("open a descriptor", lambda place=place, number=number: os.close(os.open(place / f"fd/{number}", os.O_RDWR)))
            attempt("take a descriptor", lambda pid=pid, number=number: pidfd_getfd(pid, number))
        attempt("look at mappings", lambda place=place: (place / "maps").read_bytes())
        attempt("open memory", lambda place=place: os.close(os.open(place / "mem", os.O_RDWR)))
        attempt("read memory", lambda pid=pid: read_memory(pid, 0x400000))
        attempt("read the environment", lambda place=place: (place / "environ").read_bytes())
        attempt("send a signal", lambda pid=pid: os.kill(pid, signal.SIGKILL))
    attempt("attach", lambda: attach(pids[0]))


def attach(pid):
    library = ctypes.CDLL(None, use_errno=True)
    if library.ptrace(16, pid, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def local_sockets(names):
    """Any user can send to a name of the abstract name space; it must be of no use."""
    count = 0
    for name in names:
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            with socket.socket(socket.AF_UNIX, kind) as stranger:
                stranger.setblocking(False)
                try:
                    stranger.connect("\0" + name)
                    count += 1
                    for junk in (b"", b"x", b"\0" * 8, bytes(range(256)), b" ".join([name.encode()] * 4)):
                        for _ in range(50):
                            stranger.send(junk)
                except OSError:
                    pass
    return count


def connections(ports):
    """Junk of several lengths, from before, at and after the length of a greeting."""
    for port in ports:
        for junk in (b"", b"x", os.urandom(31), os.urandom(32), bytes(32), os.urandom(64), os.urandom(100000)):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as stranger:
                try:
                    stranger.sendall(junk)
                    stranger.shutdown(socket.SHUT_WR)
                    while stranger.recv(4096):
                        done.append("get an answer over TCP")
                except OSError:
                    pass  # it was sent away before it had said all
    return 7 * len(ports)


def main():
    job = json.load(sys.stdin)
    assert os.getuid() not in (0, job["uid"])
    processes(job["pids"])
    tried["send to local sockets"] = local_sockets(job["names"])
    tried["connect to ports"] = connections(job["ports"])
    print(json.dumps({"tried": tried, "done": sorted(set(done))}))


if __name__ == "__main__":
    main()
