#!/usr/bin/env python3
"""Behaviour of mpiexec, seen from outside.  Usage: mpiexec_test.py MPIEXEC PROBE [unittest arguments]

Ranks are shell commands where nothing of MPI matters, and bootstrap_probe where it does.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from cases import main, needs  # noqa: E402

MPIEXEC, PROBE = sys.argv[1], sys.argv[2]
LIMIT = 60  # seconds; only a broken mpiexec needs as long


def mpiexec(*words, stdin=subprocess.DEVNULL, env=None, **more):
    """Runs mpiexec to its end."""
    if isinstance(stdin, bytes):
        more["input"] = stdin
    else:
        more["stdin"] = stdin
    return subprocess.run([MPIEXEC, *words], capture_output=True, timeout=LIMIT,
                          env={**os.environ, **(env or {})}, **more)


def text(stream):
    return stream.decode()


def sanitized():
    """Whether the build has sanitizers; programs that are compiled elsewhere cannot load its libraries then."""
    hawser = os.path.join(os.path.dirname(MPIEXEC), "hawser")
    return "sanitizers" in subprocess.run([hawser, "info"], capture_output=True, text=True, timeout=LIMIT, check=True).stdout


with_compiled_programs = unittest.skipIf(sanitized(), "the build has sanitizers, which programs compiled here lack")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def eventually(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"never happened: {what}")
        time.sleep(0.005)


class Started:
    """An mpiexec that runs while the test goes on; lines of its output can be waited for."""

    def __init__(self, *words, **more):
        self.process = subprocess.Popen([MPIEXEC, *words], stdin=more.pop("stdin", subprocess.DEVNULL),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, **more)

    def lines(self, count):
        return [self.process.stdout.readline().decode().rstrip("\n") for _ in range(count)]

    def finish(self):
        out, err = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, out.decode(), err.decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class CommandLine(unittest.TestCase):
    def test_help_and_version(self):
        result = mpiexec("--help")
        self.assertEqual(result.returncode, 0)
        for option in ("-np", "--hosts", "-ppn", "--genv", "--wdir", "--label", "--bind", "--stdin", "--timeout"):
            self.assertIn(option, text(result.stdout))
        self.assertIn("Hawser", text(mpiexec("--version").stdout))

    def test_mistakes_exit_with_2_and_say_what_is_wrong(self):
        for words, expected in ((["-q", "true"], "unknown option -q"), (["-n", "x", "true"], "-n x"),
                                (["-n", "2"], "no program"), (["-x", "NOT_SET_AT_ALL", "true"], "NOT_SET_AT_ALL"),
                                (["-hostfile", "/nowhere", "true"], "/nowhere"),
                                (["--stdin", "4", "-n", "2", "true"], "only 2 ranks")):
            result = mpiexec(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(expected, text(result.stderr))
            self.assertTrue(text(result.stderr).startswith("mpiexec: "))

    def test_wrong_setting_is_found_before_the_start(self):
        result = mpiexec("-n", "3", "echo", "started", env={"HAWSER_STAST": "on"})
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, b"")
        self.assertRegex(text(result.stderr), "HAWSER_STAST.*HAWSER_STATS")

    def test_program_not_found_or_not_executable(self):
        result = mpiexec("-n", "2", "true", ":", "./not-there")
        self.assertEqual(result.returncode, 127)
        self.assertRegex(text(result.stderr), r"cannot start rank 2 on host \S+: ./not-there: No such file.*errno 2")
        self.assertEqual(mpiexec("not-in-the-path").returncode, 127)
        result = mpiexec("/etc/passwd")
        self.assertEqual(result.returncode, 126)
        self.assertIn("Permission denied", text(result.stderr))
        self.assertIn("working directory /nowhere: No such", text(mpiexec("-wdir", "/nowhere", "true").stderr))

    def test_environment_directory_and_several_programs(self):
        result = mpiexec("-l", "-x", "A=global", "-x", "KEPT", "-genv", "B", "b", "-n", "1", "-env", "C", "c", "sh",
                         "-c", 'echo "$A $B $C $KEPT"', ":", "-n", "1", "-wdir", "/", "sh", "-c",
                         'echo "$A $B $C $PWD $HAWSER_JOB_APPNUM"', env={"KEPT": "kept"})
        self.assertEqual(sorted(text(result.stdout).splitlines()), ["[0] global b c kept", "[1] global b  / 1"])

    def test_script_without_interpreter_line(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "script")
            with open(script, "w", encoding="ascii") as file:
                file.write('echo "ran with $1"\n')
            os.chmod(script, 0o755)
            self.assertEqual(text(mpiexec(script, "x").stdout), "ran with x\n")
            with open(script, "w", encoding="ascii") as file:
                file.write('echo "$# ${2000} $0"\n')
            words = [str(i) for i in range(1, 3001)]
            self.assertEqual(text(mpiexec("-n", "2", script, *words).stdout), f"3000 2000 {script}\n" * 2)

    def test_host_file(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("# two\na:1\nb slots=2\n")
            file.flush()
            result = mpiexec("-f", file.name, "sh", "-c", "echo $HAWSER_JOB_HOST")
        self.assertEqual(sorted(text(result.stdout).split()), ["a", "b", "b"])
        for path, reason in (("/", "-hostfile: cannot read '/': Is a directory"), ("/dev/zero", "longer than 16 MiB")):
            result = mpiexec("--hostfile", path, "true")
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertIn(reason, text(result.stderr))
            self.assertEqual(len(text(result.stderr).splitlines()), 1)


class Output(unittest.TestCase):
    def test_lines_of_ranks_are_not_mixed(self):
        script = 'for i in $(seq 200); do printf "%s" "$PMI_RANK-"; printf "%s\\n" "$PMI_RANK"; done'
        lines = text(mpiexec("-n", "4", "sh", "-c", script).stdout).splitlines()
        self.assertEqual(len(lines), 800)
        self.assertEqual(sorted(set(lines)), ["0-0", "1-1", "2-2", "3-3"])

    def test_labels_on_both_outputs(self):
        result = mpiexec("-l", "-n", "2", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual(sorted(text(result.stdout).splitlines()), ["[0] out", "[1] out"])
        self.assertEqual(sorted(text(result.stderr).splitlines()), ["[0] err", "[1] err"])

    def test_bytes_of_one_rank_are_not_changed(self):
        data = bytes(range(256)) * 5000
        self.assertEqual(mpiexec("-n", "1", "cat", stdin=data).stdout, data)

    def test_last_line_without_end(self):
        self.assertEqual(mpiexec("-n", "2", "sh", "-c", "[ $PMI_RANK = 1 ] || printf end").stdout, b"end")

    def test_a_prompt_is_shown_before_it_is_answered(self):
        with Started("-n", "2", "sh", "-c", '[ $PMI_RANK = 1 ] || { printf "name? "; read a; echo "hello $a"; }',
                     stdin=subprocess.PIPE) as job:
            shown = b""
            while len(shown) < 6:
                shown += job.process.stdout.read(6 - len(shown))
            self.assertEqual(shown, b"name? ")
            job.process.stdin.write(b"you\n")
            job.process.stdin.close()
            job.process.stdin = None
            self.assertEqual(job.finish()[1], "hello you\n")

    def test_much_output_and_a_reader_who_waits(self):
        with Started("-n", "4", "sh", "-c", "seq 200000; sleep 0") as job:
            first = job.lines(1)
            eventually(lambda: state(job.process.pid) == "S", "mpiexec waits for its reader")
            code, out, _ = job.finish()
        self.assertEqual(code, 0)
        self.assertEqual(len(out.splitlines()) + len(first), 800000)

    def test_a_reader_who_leaves_ends_the_writers(self):
        with Started("-n", "2", "yes") as job:
            job.lines(3)
            job.process.stdout.close()
            job.process.wait(LIMIT)
            self.assertEqual(job.process.returncode, 128 + signal.SIGPIPE)

    def test_output_to_a_file(self):
        with tempfile.TemporaryFile() as file:
            subprocess.run([MPIEXEC, "-n", "2", "seq", "5000"], stdout=file, check=True, timeout=LIMIT,
                           stdin=subprocess.DEVNULL)
            file.seek(0)
            self.assertEqual(len(file.read().splitlines()), 10000)

    def run_into(self, path, *words, which="stdout"):
        with open(path, "w", encoding="ascii") as sink:
            return subprocess.run([MPIEXEC, *words], **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                                        "stderr": subprocess.PIPE, which: sink, "timeout": LIMIT})

    def test_a_full_disk_is_said_once_and_is_no_success(self):
        # Little, which is written last of all, and much. The job goes on: it may have better to do than to print.
        for script in ("echo x", "seq 100000; echo end >&2"):
            result = self.run_into("/dev/full", "-n", "2", "sh", "-c", script)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertEqual(text(result.stderr).count("mpiexec: cannot write standard output: No space left"), 1)
        self.assertEqual(text(result.stderr).count("end\n"), 2)
        result = self.run_into("/dev/full", "-n", "2", "sh", "-c", "seq 100000 >&2; echo out", which="stderr")
        self.assertEqual((result.returncode, text(result.stdout)), (1, "out\nout\n"))
        # What a rank says about itself is more.
        self.assertEqual(self.run_into("/dev/full", "-n", "2", "sh", "-c", "echo x; exit 7").returncode, 7)

    def test_a_full_disk_for_what_mpiexec_itself_prints(self):
        for word in ("--help", "--version"):
            result = self.run_into("/dev/full", word)
            self.assertEqual((result.returncode, text(result.stderr)),
                             (1, "mpiexec: cannot write standard output: No space left on device\n"))

    def test_a_limit_of_file_sizes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out")
            result = subprocess.run(["bash", "-c", 'ulimit -f 1; exec "$0" -n 1 seq 5000 >"$1"', MPIEXEC, path],
                                    stderr=subprocess.PIPE, timeout=LIMIT)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("cannot write standard output: File too large", text(result.stderr))
            self.assertEqual(os.stat(path).st_size, 1024)

    def test_a_reader_who_leaves_before_all_is_written(self):
        # The rank has ended by the time: only mpiexec's exit code can tell.
        with Started("-n", "1", "sh", "-c", "seq 50000; echo $$ >&2") as job:
            rank = int(job.process.stderr.readline())
            eventually(lambda: not alive(rank), "the rank has ended")
            job.process.stdout.close()
            job.process.wait(LIMIT)
            self.assertEqual(job.process.returncode, 128 + signal.SIGPIPE)

    def test_what_a_rank_leaves_running_may_print_for_ever(self):
        # Away from the job's process group, too, so that the job's end does not end it.
        with tempfile.TemporaryDirectory() as folder:
            script = 'setsid sh -c "seq 100000; echo >$0; yes & yes & yes & exec yes" & echo $! >&2; until [ -e $0 ]; do :; done'
            result = mpiexec("-n", "1", "bash", "-c", script, os.path.join(folder, "writes"))
        try:
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(b"\n100000\n", result.stdout)
        finally:
            try:
                os.killpg(int(result.stderr.split()[0]), signal.SIGKILL)
            except ProcessLookupError:
                pass


class Input(unittest.TestCase):
    def test_rank_0_reads_standard_input(self):
        self.assertEqual(text(mpiexec("-l", "-n", "3", "cat", stdin=b"line\n").stdout), "[0] line\n")

    def test_another_rank_or_nobody(self):
        self.assertEqual(text(mpiexec("-l", "--stdin", "2", "-n", "3", "cat", stdin=b"line\n").stdout), "[2] line\n")
        self.assertEqual(text(mpiexec("--stdin", "none", "-n", "2", "cat", stdin=b"line\n").stdout), "")

    def test_standard_descriptors_that_are_closed(self):
        result = subprocess.run(["sh", "-c", '"$0" -n 2 echo fine 0<&- 2>&-', MPIEXEC], capture_output=True,
                                timeout=LIMIT, check=True)
        self.assertEqual(text(result.stdout), "fine\nfine\n")

    def test_a_terminal(self):
        master, slave = os.openpty()
        try:
            with Started("-n", "2", "sh", "-c", '[ $PMI_RANK = 1 ] || { read a; echo "got $a"; cat; }', stdin=slave) as job:
                os.write(master, b"typed\n")
                self.assertEqual(job.lines(1), ["got typed"])
                os.write(master, b"\x04")  # end of input
                self.assertEqual(job.finish()[0], 0)
        finally:
            os.close(master)
            os.close(slave)


class Nodes(unittest.TestCase):
    def test_ranks_share_memory_with_their_node_only(self):
        script = 'echo "$HAWSER_JOB_HOST $(stat -L -c %i /proc/self/fd/$HAWSER_JOB_NODE_FD)"'
        pairs = text(mpiexec("-n", "4", "-hosts", "a,b", "bash", "-c", script).stdout).splitlines()
        self.assertEqual(len(pairs), 4)
        self.assertEqual(len(set(pairs)), 2)
        self.assertEqual(len({pair.split()[1] for pair in pairs}), 2)

    def test_ranks_learn_how_many_cores_they_may_use_together(self):
        cores = sorted(os.sched_getaffinity(0))
        for used in {len(cores), 1}:
            chosen = ",".join(map(str, cores[:used]))
            result = subprocess.run(["taskset", "-c", chosen, MPIEXEC, "-n", "3", "sh", "-c", "echo $HAWSER_JOB_CORES"],
                                    capture_output=True, text=True, timeout=LIMIT, check=False)
            self.assertEqual((result.returncode, result.stdout.split()), (0, [str(used)] * 3), result.stderr)

    def test_mapping(self):
        result = mpiexec("-n", "4", "-ppn", "1", "-hosts", "a,b", PROBE)
        self.assertEqual(result.returncode, 0, result.stderr)
        for line in text(result.stdout).splitlines():
            self.assertIn("of 4 under mpiexec nodes 0,1,0,1 ", line)

    def test_more_ranks_than_slots(self):
        hosts = ("-hosts", "a:1,b:1")
        refused = mpiexec("-n", "3", *hosts, "true")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("3 ranks, but the hosts have only 2 slots", text(refused.stderr))
        self.assertIn("--oversubscribe", text(refused.stderr))
        for words in (["--oversubscribe"], ["-ppn", "1"]):
            result = mpiexec("-n", "3", *hosts, *words, "sh", "-c", 'echo "$PMI_RANK $HAWSER_JOB_HOST"')
            self.assertEqual(sorted(text(result.stdout).splitlines()), ["0 a", "1 b", "2 a"], result.stderr)

    def test_binding(self):
        cores = len(os.sched_getaffinity(0))
        script = "grep Cpus_allowed_list /proc/self/status"
        if cores >= 2:
            self.assertEqual(len(set(text(mpiexec("-n", "2", "sh", "-c", script).stdout).splitlines())), 2)
        for words in (["--bind", "none", "-n", "2"], ["-n", str(cores + 1)]):
            self.assertEqual(len(set(text(mpiexec(*words, "sh", "-c", script).stdout).splitlines())), 1)

    def test_mpiexec_in_a_rank(self):
        result = mpiexec("-n", "1", MPIEXEC, "-n", "2", PROBE)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(text(result.stdout).count(" of 2 under mpiexec"), 2)


class Exchange(unittest.TestCase):
    def test_singleton(self):
        result = subprocess.run([PROBE], capture_output=True, timeout=LIMIT, check=True)
        self.assertIn("rank 0 of 1 under singleton", text(result.stdout))

    def test_start_again_in_the_same_process(self):
        result = mpiexec("-n", "3", PROBE, "twice")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_one_after_the_other_in_a_script(self):
        result = mpiexec("-n", "2", "sh", "-c", '"$0" && "$0"', PROBE)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(text(result.stdout).splitlines()), 4)

    @needs("mpicc.mpich")
    def test_program_built_with_mpich(self):
        compiler = shutil.which("mpicc.mpich")
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "sum.c"), os.path.join(folder, "sum")
            with open(source, "w", encoding="ascii") as file:
                file.write('#include <mpi.h>\n#include <stdio.h>\nint main(int c, char** v) {\n'
                           "  int rank, sum;\n  MPI_Init(&c, &v);\n  MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
                           "  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n"
                           '  printf("%d\\n", sum);\n  if (c > 1) MPI_Abort(MPI_COMM_WORLD, 9);\n'
                           "  return MPI_Finalize();\n}\n")
            # Without the library path and rpath of a Hawser build, which the tests may run under.
            subprocess.run([compiler, source, "-o", program], check=True, timeout=LIMIT, capture_output=True)
            result = mpiexec("-n", "3", program, env={"LD_LIBRARY_PATH": ""})
            self.assertEqual((result.returncode, text(result.stdout)), (0, "3\n3\n3\n"), result.stderr)
            self.assertEqual(mpiexec("-n", "3", program, "x", env={"LD_LIBRARY_PATH": ""}).returncode, 9)


class End(unittest.TestCase):
    def failure(self, *words, code, says):
        result = mpiexec(*words)
        self.assertEqual(result.returncode, code, result.stderr)
        lines = [line for line in text(result.stderr).splitlines() if line.startswith("mpiexec: ")]
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], says)

    def test_success(self):
        result = mpiexec("-n", "3", "true")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))

    def test_many_ranks_and_few_descriptors(self):
        result = subprocess.run(["sh", "-c", 'ulimit -S -n 64; exec "$0" -n 60 sh -c "ulimit -S -n"', MPIEXEC],
                                capture_output=True, timeout=LIMIT, check=True)
        self.assertEqual(text(result.stdout), "64\n" * 60)  # the ranks have the user's limit

    def test_more_ranks_than_the_limit_of_descriptors_allows(self):
        result = subprocess.run(["sh", "-c", 'ulimit -n 64; exec "$0" -n 60 echo started', MPIEXEC],
                                capture_output=True, timeout=LIMIT)
        self.assertEqual((result.returncode, text(result.stdout)), (2, ""))
        self.assertRegex(text(result.stderr), r"60 ranks need \d+ open files, but the limit is 64 ")

    def test_a_rank_that_fails_ends_the_others(self):
        self.failure("-n", "3", "-hosts", "a,b,c", "sh", "-c", "[ $PMI_RANK = 1 ] && exit 7; sleep 1000", code=7,
                     says=r"rank 1 on host b \(pid \d+\) exited with code 7")

    def test_a_rank_that_is_killed_ends_the_others(self):
        self.failure("-n", "3", "sh", "-c", "[ $PMI_RANK = 2 ] && kill -SEGV $$; sleep 1000", code=139,
                     says=r"rank 2 on host \S+ \(pid \d+\) was killed by signal 11 \(SIGSEGV, Segmentation fault\)")

    def test_ranks_that_ignore_their_end(self):
        self.failure("-n", "2", "sh", "-c", 'trap "" TERM; [ $PMI_RANK = 1 ] && exit 3; while :; do sleep 1; done',
                     code=3, says="rank 1 .* exited with code 3")

    def test_abort(self):
        self.failure("-n", "3", PROBE, "abort", code=5,
                     says="rank 2 .* aborted the job with code 5: the probe was asked to")

    def test_exit_without_finalize(self):
        self.failure("-n", "3", PROBE, "leave", code=1, says="rank 2 .* exited without calling MPI_Finalize")

    @with_compiled_programs
    def test_a_node_that_cannot_be_reached(self):
        alone = ["unshare", "--map-root-user", "--net"]  # a network without any other host
        wrapper = os.path.join(os.path.dirname(MPIEXEC), "mpicc")
        if shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
            self.skipTest("no network namespaces here")
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "sum")
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sum.c")
            subprocess.run([wrapper, source, "-o", program], check=True, timeout=LIMIT)
            self.failure("-n", "2", "-hosts", "a,b", *alone, program, code=16,
                         says="rank . .* MPI_Allreduce: rank . cannot be reached: ")

    @with_compiled_programs
    def test_a_limit_of_file_sizes_for_the_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "sum")
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sum.c")
            subprocess.run([os.path.join(os.path.dirname(MPIEXEC), "mpicc"), source, "-o", program], check=True,
                           timeout=LIMIT)
            result = mpiexec("-n", "2", "sh", "-c", 'ulimit -f 100; exec "$0"', program)
            self.assertIn(result.returncode, range(1, 128))  # no signal
            self.assertRegex(text(result.stderr), r"shared memory needs a file of \d+ bytes, but the limit is \d+ "
                                                  r"\(raise it: ulimit -f \d+\)")

    def test_exit_without_init_while_others_wait(self):
        self.failure("-n", "2", PROBE, ":", "-n", "1", "true", code=1,
                     says="rank 2 .* exited without calling MPI_Init, which other ranks called")

    def test_exit_code_after_finalize(self):
        self.failure("-n", "3", PROBE, "late", "6", code=6, says="rank 2 .* exited with code 6")

    def test_timeout(self):
        self.failure("--timeout", "1", "-n", "2", "sleep", "1000", code=124, says="--timeout")

    def test_bytes_that_are_no_pmi(self):
        # bash, for its redirection to descriptors beyond 9.
        self.failure("-n", "2", "bash", "-c", "[ $PMI_RANK = 0 ] || exec cat /dev/zero >&$PMI_FD; sleep 1000", code=1,
                     says=r"rank 1 .* wrote \d+ bytes without a newline to its PMI socket")
        self.failure("-n", "1", "bash", "-c", "echo cmd=hawser_fence length=999999999 >&$PMI_FD; sleep 1000", code=1,
                     says="rank 0 .* sent the PMI command hawser_fence with length=999999999; .* to 67108864")

    def test_what_ranks_leave_running_is_ended(self):
        result = mpiexec("-n", "2", "sh", "-c", "sleep 1000 & echo $!")
        pids = text(result.stdout).split()
        self.assertEqual((result.returncode, len(pids)), (0, 2))
        for pid in pids:
            eventually(lambda pid=pid: not alive(pid), "the left process is gone")


class Signals(unittest.TestCase):
    # Each rank prints its process and that of a child, then waits.
    WAIT = "sleep 1000 & echo $$ $!; wait"

    def test_termination(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with Started("-n", "2", "bash", "-c", self.WAIT) as job:
                pids = " ".join(job.lines(2)).split()
                job.process.send_signal(number)
                code, _, err = job.finish()
                # A shell's background children ignore SIGINT, but the job's end takes them along.
                self.assertEqual(code, 128 + number, err)
                self.assertIn(number.name, err)
                for pid in pids:
                    eventually(lambda pid=pid: not alive(pid), "the ranks are gone")

    def test_ranks_that_talk_without_end(self):
        # Requests without ever reading an answer, and output.
        for script in ("yes cmd=get_maxes >&$PMI_FD", "yes"):
            with Started("-n", "2", "bash", "-c", f"echo ready; {script}") as job:
                job.lines(2)
                job.process.send_signal(signal.SIGTERM)
                code, _, err = job.finish()
                self.assertEqual(code, 128 + signal.SIGTERM, err)
        result = mpiexec("--timeout", "1", "-n", "1", "bash", "-c", "yes cmd=get_maxes >&$PMI_FD")
        self.assertEqual(result.returncode, 124, result.stderr)

    def test_a_signal_while_ranks_are_being_started(self):
        with tempfile.TemporaryDirectory() as folder:
            script = f"echo >{folder}/$PMI_RANK; [ $PMI_RANK = 0 ] && kill -TERM $PPID; exec sleep 1000"
            result = mpiexec("-n", "300", "sh", "-c", script)
            self.assertEqual(result.returncode, 128 + signal.SIGTERM, result.stderr)
            self.assertRegex(text(result.stderr), r"ended by signal 15 .* when \d+ of 300 ranks were started")
            self.assertLess(len(os.listdir(folder)), 300)

    def test_ranks_may_end_in_their_own_way(self):
        # Once: the end of the first rank is another reason to tell the second one, which may be cleaning up by then.
        script = """trap "trap '' TERM; echo cleaned; exit 4" TERM; echo ready; while :; do sleep 0.01; done"""
        with Started("-n", "2", "sh", "-c", script) as job:
            job.lines(2)
            job.process.send_signal(signal.SIGTERM)
            code, out, err = job.finish()
        self.assertEqual((code, out), (4, "cleaned\ncleaned\n"), err)

    def test_a_second_request_kills(self):
        script = 'trap "echo no" TERM; echo ready; while :; do sleep 0.01; done'
        with Started("-n", "2", "sh", "-c", script) as job:
            job.lines(2)
            job.process.send_signal(signal.SIGTERM)
            self.assertEqual(job.lines(2), ["no", "no"])
            job.process.send_signal(signal.SIGTERM)
            self.assertEqual(job.finish()[0], 128 + signal.SIGTERM)

    def test_user_signals(self):
        script = 'trap "echo one" USR1; trap "echo two; exit 0" USR2; echo ready; while :; do sleep 0.01; done'
        with Started("-n", "2", "sh", "-c", script) as job:
            job.lines(2)
            job.process.send_signal(signal.SIGUSR1)
            self.assertEqual(job.lines(2), ["one", "one"])
            job.process.send_signal(signal.SIGUSR2)
            self.assertEqual(job.finish()[:2], (0, "two\ntwo\n"))

    def test_stop_and_continue(self):
        with Started("-n", "2", "sh", "-c", "echo $$; exec sleep 1000") as job:
            pids = job.lines(2)
            job.process.send_signal(signal.SIGTSTP)
            for pid in [*pids, job.process.pid]:
                eventually(lambda pid=pid: state(pid) == "T", "all are stopped")
            job.process.send_signal(signal.SIGCONT)
            for pid in [*pids, job.process.pid]:
                eventually(lambda pid=pid: state(pid) != "T", "all are continued")
            job.process.send_signal(signal.SIGTERM)
            self.assertEqual(job.finish()[0], 128 + signal.SIGTERM)

    def test_no_orphans_when_mpiexec_is_killed(self):
        shared = set(os.listdir("/dev/shm"))
        with Started("-n", "4", "-hosts", "a,b", "bash", "-c", self.WAIT) as job:
            pids = " ".join(job.lines(4)).split()
            guard = subprocess.run(["pgrep", "-P", str(job.process.pid), "mpiexec-guard"], capture_output=True,
                                   check=True, timeout=LIMIT)
            job.process.kill()
            for pid in [*pids, text(guard.stdout).strip()]:
                eventually(lambda pid=pid: not alive(pid), "nothing is left")
        self.assertLessEqual(set(os.listdir("/dev/shm")), shared)

    def test_no_orphans_when_stopped_and_killed(self):
        with Started("-n", "2", "bash", "-c", self.WAIT) as job:
            pids = " ".join(job.lines(2)).split()
            job.process.send_signal(signal.SIGTSTP)
            eventually(lambda: state(job.process.pid) == "T", "mpiexec is stopped")
            job.process.kill()
            for pid in pids:
                eventually(lambda pid=pid: not alive(pid), "nothing is left")

    def test_no_orphans_when_a_rank_is_killed(self):
        with Started("-n", "3", "bash", "-c", self.WAIT) as job:
            pids = " ".join(job.lines(3)).split()
            os.kill(int(pids[2]), signal.SIGKILL)
            code, _, err = job.finish()
            self.assertEqual(code, 137)
            self.assertRegex(err, "killed by signal 9")
            for pid in pids:
                eventually(lambda pid=pid: not alive(pid), "nothing is left")

    def test_the_ranks_end_without_the_guard_too(self):
        with Started("-n", "2", "sh", "-c", "echo $$; exec sleep 1000") as job:
            pids = job.lines(2)
            subprocess.run(["pkill", "-KILL", "-P", str(job.process.pid), "mpiexec-guard"], check=True, timeout=LIMIT)
            job.process.kill()
            for pid in pids:
                eventually(lambda pid=pid: not alive(pid), "nothing is left")


if __name__ == "__main__":
    main(*sys.argv[3:])
