"""`hawser sim exec`: unmodified programs as ranks of a simulated job. Each case builds its program with Hawser's compiler
wrappers, or Debian's for MPICH.  Usage: exec_test.py FOLDER-OF-PROGRAMS [CASES]"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from cases import main, needs  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = pathlib.Path(sys.argv[1]).resolve()


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="hawser-exec-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def build(self, source, compiler="mpicc", *options, name="program"):
        compiler = compiler if "." in compiler else str(PROGRAMS / compiler)
        done = subprocess.run([compiler, "-w", "-O1", "-o", name, source if "/" in str(source) else str(HERE / source), *options],
                              cwd=self.folder, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / name

    def exec(self, ranks, *words, options=(), code=0, stdin="", deterministic=True, **settings):
        """Runs the program; what it printed."""
        scale = ["--compute-scale", "0"] if deterministic else []
        done = subprocess.run([PROGRAMS / "hawser", "sim", "exec", "-n", str(ranks), *scale, *options, *map(str, words)],
                              cwd=self.folder, capture_output=True, text=True, input=stdin, timeout=300, check=False, **settings)
        self.assertEqual(done.returncode, code, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
        return done

    def assert_lines(self, output, *lines):
        for line in lines:
            self.assertIn(line, output.splitlines())


class State(Case):
    """Each rank is a process to itself."""

    def check_c(self, compiler):
        program = self.build("state.c", compiler)
        for rank in range(3):
            (self.folder / str(rank)).mkdir()
            (self.folder / str(rank) / "here").write_text(f"f{rank}")
        done = self.exec(3, program, "-v", "--name", "x", "-v", "rest", stdin="line\n",
                         env={**os.environ, "STATE_FOR_ALL": "1"})
        for rank in range(3):
            self.assert_lines(done.stdout, f"{rank}: options 2 x rest", f"{rank}: variables {100 + rank} {40 + rank} 5",
                              f"{rank}: errno {10 + rank}", f"{rank}: random 1", f"{rank}: tokens {chr(97 + rank)} b",
                              f"{rank}: environment {rank} {'unset' if rank == 0 else 'set'} {1 if rank == 0 else 2}",
                              f"{rank}: locale {'C.UTF-8' if rank == 0 else 'C'}", f"{rank}: folder f{rank}",
                              f"{rank}: signal 1", f"{rank}: input {'line' if rank == 0 else 'end'}", f"{rank}: stream",
                              f"{rank}: host n{rank}, process {rank}", f"{rank}: at exit, counter {100 + rank}",
                              f"{rank}: destructor, counter {100 + rank}")
            self.assert_lines(done.stderr, f"{rank}: error stream")
        self.assertEqual(done.stdout.splitlines().count("raw"), 3)

    def test_c(self):
        self.check_c("mpicc")

    @needs("mpicc.mpich")
    def test_program_built_for_mpich(self):
        self.check_c("mpicc.mpich")

    def test_cxx(self):
        program = self.build("state.cpp", "mpicxx", "-std=c++17")
        output = self.exec(4, program).stdout
        for rank in range(4):
            what = f"thrown by {rank}" if rank % 2 else "logic error"
            self.assert_lines(output, f"{rank}: variables {f'{7 + rank:x}' if rank == 1 else 7 + rank} "
                              f"{f'{40 + rank:x}' if rank == 1 else 40 + rank} x{rank}",
                              f"{rank}: hex {'ff' if rank == 1 else 255}", f"{rank}: caught {what}", f"{rank}: slept 3000",
                              f"{rank}: destructor {rank}")

    def check_fortran(self, source, compiler="mpifort"):
        output = self.exec(4, self.build(source, compiler)).stdout
        self.assert_lines(output, *(f"{rank}: 6 {3 + rank} {10 * rank} of{rank}" for rank in range(4)))

    @needs("gfortran")
    def test_fortran_include_file(self):
        self.check_fortran("module_mpif.f90")

    @needs("gfortran")
    def test_fortran_module(self):
        self.check_fortran("module_mpi.f90")

    @needs("gfortran")
    def test_fortran_2008_module(self):
        self.check_fortran("module_f08.f90")

    @needs("mpif90.mpich", "gfortran")
    def test_fortran_program_built_for_mpich(self):
        self.check_fortran("module_mpif.f90", "mpif90.mpich")

    def test_library_of_the_program(self):
        self.build("library.c", "mpicc", "-shared", "-fPIC", name="libown.so")
        program = self.build("with_library.c", "mpicc", str(self.folder / "libown.so"), f"-Wl,-rpath,{self.folder}")
        output = self.exec(3, program).stdout
        self.assert_lines(output, *(f"{rank}: calls {rank + 1}, variable {11 + rank}" for rank in range(3)))

    def test_labels(self):
        program = self.build("with_library.c", "mpicc", str(HERE / "library.c"))
        output = self.exec(3, program, options=["-l"]).stdout
        self.assert_lines(output, *(f"[{rank}] {rank}: calls {rank + 1}, variable {11 + rank}" for rank in range(3)))


class Time(Case):
    def test_clocks_and_sleeps_are_virtual(self):
        output = self.exec(2, self.build("ends.c"), "times").stdout
        for rank in range(2):
            self.assert_lines(output, f"{rank}: usleep 2000 us, by MPI 2000 us", f"{rank}: nanosleep 5000 us",
                              f"{rank}: poll 7000 us", f"{rank}: condition 2 s, timed out 1", f"{rank}: semaphore 1 s, timed out 1",
                              f"{rank}: sleep 3 s", f"{rank}: date {1767225600 + 6}")

    def virtual(self, done):
        return float(re.search(r"([\d.]+) s of virtual time", done.stderr)[1])

    def test_computing_takes_time_if_it_is_wanted(self):
        program = self.build("ends.c")
        free = self.virtual(self.exec(2, program, "compute"))
        self.assertLess(free, 0.001)
        self.assertGreater(self.virtual(self.exec(2, program, "compute", deterministic=False)), free + 0.001)

    def test_twice_the_same(self):
        program = self.build("traffic.c")
        seen = {re.search("trace hash (.*)", self.exec(6, program, options=["--trace-hash"]).stderr)[1] for _ in range(2)}
        self.assertEqual(len(seen), 1, seen)


class End(Case):
    def check(self, how, code, *patterns):
        done = self.exec(2, self.build("ends.c"), how, options=["--time-limit", "10s"], code=code)
        for pattern in patterns:
            self.assertRegex(done.stdout + done.stderr, pattern)

    def test_codes(self):
        self.check("", 0)
        self.check("early", 3, "rank 0 exited with code 3")
        self.check("code", 7, "rank 1 exited with code 7", "1: begins")

    def test_abort(self):
        self.check("abort", 9, "rank 1 ended the job with code 9")

    def test_crash(self):
        self.check("crash", 128 + 11, "rank 1 died of signal 11", "1: begins")
        self.check("assert", 128 + 6, "ends.c:.*Assertion `rank == 0' failed", "rank 1 died of signal 6")

    def test_deadlock_says_where_each_rank_is(self):
        self.check("deadlock", 122, "deadlock: 2 of 2 ranks", "rank 0: waits in MPI_Recv", "rank 1: waits in MPI_Recv")

    def test_time_limit(self):
        self.check("long", 124, "limit of 10000000000 ns of virtual time")

    def test_return_without_finalize(self):
        self.check("return", 1, "rank . returned without MPI_Finalize")

    def test_what_cannot_be_simulated(self):
        self.check("thread", 121, "rank . called pthread_create: threads of the program's own are not simulated")
        self.check("wait", 121, "rank . called pthread_cond_wait: no other thread can end this wait")
        self.check("fork", 121, "rank . called fork: programs that start other programs are not simulated")

    def test_stack(self):
        self.check("stack", 0, "0: stack 1", "1: stack 1")
        self.check("overflow", 128 + 11, "rank . died of signal 11")


class Processes(Case):
    """`--process-per-rank`: the same job, event for event, with each rank in a process of its own."""

    own = ["--process-per-rank"]

    def test_state_that_one_process_has_once(self):
        for options in ([], ["--ppn", "2"]):
            output = self.exec(4, self.build("own_process.c"), options=self.own + options).stdout
            for rank in range(4):
                self.assert_lines(output, f"{rank}: year {70 + rank}, entry {10 + rank}, mask {rank}, file of {rank}",
                                  f"{rank}: 0 wrong")

    def test_the_same_job_as_in_one_process(self):
        for program, words in ((self.build("traffic.c", name="c"), (3, 200000)), (self.build("state.cpp", "mpicxx", name="c++"), ())):
            for options in ([], ["--ppn", "2", "--stats"], ["--rails", "1", "--fabric", "two-switch", "--draw-faults", "300"]):
                one, many = (self.exec(6, program, *words, options=[*options, *mode, "--trace-hash"]) for mode in ([], self.own))
                self.assertEqual((one.stdout, one.stderr), (many.stdout, many.stderr))

    @needs("mpicc.mpich")
    def test_program_built_for_mpich(self):
        self.assert_lines(self.exec(4, self.build("traffic.c", "mpicc.mpich"), options=self.own).stdout, "0 wrong")

    @needs("gfortran")
    def test_fortran(self):
        output = self.exec(4, self.build("module_f08.f90", "mpifort"), options=self.own).stdout
        self.assert_lines(output, *(f"{rank}: 6 {3 + rank} {10 * rank} of{rank}" for rank in range(4)))

    def test_openmp_with_one_thread(self):
        program = self.build("openmp.c", "mpicc", "-fopenmp")
        output = self.exec(2, program, options=self.own).stdout
        self.assert_lines(output, "0: 1 threads, sum 4950", "1: 1 threads, sum 5050")
        done = self.exec(2, program, options=self.own, code=121, env={**os.environ, "OMP_NUM_THREADS": "2"})
        self.assertRegex(done.stderr, "rank . called pthread_create: threads of the program's own are not simulated")

    def test_ends(self):
        program = self.build("ends.c")
        for how, code in (("code", 7), ("abort", 9), ("crash", 139), ("deadlock", 122), ("long", 124), ("thread", 121)):
            with self.subTest(how):
                one, many = (self.exec(2, program, how, options=["--time-limit", "10s", *mode], code=code) for mode in ([], self.own))
                self.assertEqual((one.stdout, one.stderr), (many.stdout, many.stderr))

    def test_process_that_ends_without_a_word(self):
        program = self.build("own_process.c")
        for code, ends in ((5, 5), (0, 1)):
            done = self.exec(4, program, "leave", code, options=self.own, code=ends)
            self.assertIn(f"the process of rank 1 ended with code {code}", done.stderr)


class Refused(Case):
    def refused(self, words, pattern, options=()):
        done = self.exec(2, *words, options=options, code=2, deterministic=False)
        self.assertRegex(done.stderr, pattern)

    def test_programs(self):
        source = self.folder / "plain.c"
        source.write_text("int main(void) { return 0; }\n")
        script = self.folder / "script"
        script.write_text("#!/bin/sh\n")
        self.refused([script], "is not a program in ELF format")
        self.refused([self.folder / "nothing"], "cannot read .*nothing: No such file")
        self.refused([self.plain(source, "-static")], "is statically linked")
        self.refused([self.plain(source, "-no-pie")], "is not position-independent.*-fPIE -pie")
        self.refused([self.plain(source)], "is not linked with an MPI library")
        self.refused([self.plain(source, "-fopenmp", "-Wl,--no-as-needed")], "libgomp.so.1: threads")

    def plain(self, source, *options):
        program = self.folder / f"plain{len(options)}{abs(hash(options))}"
        subprocess.run(["gcc", "-o", program, source, *options], check=True, timeout=60)
        return program

    @needs("mpicc.openmpi")
    def test_other_mpi(self):
        self.refused([self.build("traffic.c", "mpicc.openmpi")], r"was built for another MPI \(libmpi.so.40\)")

    def test_options(self):
        program = self.build("traffic.c")
        self.refused([program], "there is no topology|nor is it a built-in topology", ["--fabric", "moon"])
        self.refused([program], "--compute-scale 'fast' is not a number", ["--compute-scale", "fast"])
        self.refused([program], "soon", ["--time-limit", "soon"])
        self.refused([program], "soon", ["--interrupt-cost", "soon"])
        self.refused([program], "needs? .* hosts|2 hosts", ["--hosts", "1", "--fabric", "back-to-back"])
        self.refused([], "PROGRAM is required")


class Network(Case):
    def test_a_switch_dies_and_the_job_goes_on(self):
        faults = self.folder / "faults"
        faults.write_text("0.0002 switch SPINE0-0 dead\n0.0003 link n1/hw0 down\n")
        done = self.exec(8, self.build("traffic.c"), 8, 200000, options=["--faults", faults, "--stats"])
        self.assert_lines(done.stdout, "0 wrong")
        self.assertGreater(int(re.search(r"(\d+) failures", done.stderr)[1]), 0)
        self.assertRegex(done.stderr, r"MPI_Sendrecv +64 ")

    def test_counters(self):
        done = self.exec(2, self.build("traffic.c"), 8, 200000, env={**os.environ, "HAWSER_STATS": "on"})
        for rank in range(2):
            self.assertRegex(done.stderr, rf"rank {rank}: rails packets_sent=[1-9]")

    def test_short_blocks_take_two_levels_when_ranks_have_agreed(self):
        program = self.build("short_blocks.c")
        for operation, share in ("alltoallv", 0.5), ("gatherv", 0.8), ("scatterv", 0.8):
            with self.subTest(operation):
                output = self.exec(16, program, operation, options=["--ppn", "4", "--areas", "--rails", "2", "--post-cost", "250ns",
                                                                    "--doorbell-per-post", "--completion-cost", "250ns"]).stdout
                first, last = {}, {}
                for line in output.splitlines():
                    if re.fullmatch(r"\d \d+ \d+", line):
                        kind, before, after = map(int, line.split())
                        first[kind], last[kind] = before, after
                self.assertEqual(sorted(first), [0, 1, 2, 3], output)
                self.assertLess(last[0], share * first[0], output)
                # Who has one partner is left with messages.
                self.assertLess(last[3], last[0], output)

    def test_result_in_json(self):
        result = self.folder / "result.json"
        self.exec(4, self.build("traffic.c"), options=["--json", result])
        told = json.loads(result.read_text())
        self.assertEqual((told["outcome"], told["exit_code"], told["ranks"]), ("finished", 0, 4))
        self.assertEqual({each["name"]: each["calls"] for each in told["functions"]}["MPI_Allreduce"], 16)
        self.assertEqual(len(told["by_rank"]), 4)
        self.assertGreater(told["rails"]["packets_sent"], 0)
        # Each rank sends the block of every round to the next one, over a leaf switch.
        sent = sum(each["bytes"] for each in told["links"] if each["link"].startswith("n"))
        self.assertGreater(sent, 4 * 4 * 4 * 65536)
        self.assertLess(sent, 1.1 * 4 * 4 * 4 * 65536)
        self.exec(2, self.build("traffic.c"), options=["--json", self.folder / "no" / "where"], code=2)

    def test_picture_of_links(self):
        picture = self.folder / "links.svg"
        self.exec(4, self.build("traffic.c"), options=["--links-svg", picture])
        tree = ElementTree.parse(picture).getroot()
        self.assertTrue(tree.tag.endswith("svg"))
        text = [each.text for each in tree.iter() if each.tag.endswith("text")]
        self.assertTrue(any("n0/hw0/1 -> LEAF0-0" in each for each in text), text)
        self.assertGreater(sum(each.tag.endswith("rect") for each in tree.iter()), 8)

    def test_topologies(self):
        program = self.build("traffic.c")
        for options in (["--fabric", "two-switch"], ["--fabric", "fat-tree-144", "--rails", "1"], ["--rails", "3"],
                        ["--ppn", "2", "--rails", "1", "--rate", "1GB/s", "--latency", "1us", "--lmc", "2"]):
            self.assert_lines(self.exec(6, program, options=options).stdout, "0 wrong")

    TWO_ON_A_SWITCH = '''switchguid=0x1
Switch 4 "S-1" # "SWITCH"
[1] "H-1"[1] # "node7 HCA-1" 4xQDR
[2] "H-2"[1] # "node8 HCA-1" 4xQDR

caguid=0x11
Ca 1 "H-1" # "node7 HCA-1"
[1] "S-1"[1]

caguid=0x12
Ca 1 "H-2" # "node8 HCA-1"
[1] "S-1"[2]
'''

    def test_topology_from_a_file(self):
        program, file = self.build("traffic.c"), self.folder / "cluster"
        file.write_text(self.TWO_ON_A_SWITCH)
        done = self.exec(4, program, options=["--fabric", file, "--ppn", "2", "--stats"])
        self.assert_lines(done.stdout, "0 wrong")
        self.assertRegex(done.stderr, r"link node7 HCA-1/1 -> SWITCH/1: [1-9]")
        for options, why in ((["--hosts", "2"], "the file '.*cluster' says it itself"), ([], "need 4 hosts; the topology has 2")):
            refused = self.exec(4, program, options=["--fabric", file, *options], code=2)
            self.assertRegex(refused.stderr, why)

    def test_interrupts(self):
        program, result = self.build("overlap.c"), self.folder / "result.json"

        def run(progress, *options):
            """Microseconds of the wait for a message that came while the rank slept, and what tells runs apart."""
            done = self.exec(2, program, options=["--json", result, *options], env={**os.environ, "HAWSER_PROGRESS": progress})
            told = json.loads(result.read_text())
            return float(done.stdout), told["virtual_seconds"], told["trace_hash"]

        usual, polling = run("interrupt"), run("polling")
        self.assertLess(usual[0], 1)
        self.assertGreater(polling[0], 10)
        self.assertEqual(run("interrupt", "--interrupt-cost", "2us"), usual)
        self.assertGreater(run("interrupt", "--interrupt-cost", "1ms")[1], usual[1] + 0.001)
        for cost in ("2us", "1ms"):
            self.assertEqual(run("auto", "--interrupt-cost", cost), polling)

    def exec_twice(self, ranks, *words):
        """Runs the program twice: what it printed, which must be the same, as must all that happened."""
        first, second = (self.exec(ranks, *words, options=["--trace-hash"]) for _ in range(2))
        self.assertRegex(first.stderr, "trace hash [0-9a-f]{16}")
        self.assertEqual((first.stdout, first.stderr), (second.stdout, second.stderr))
        return first

    def check_examples(self, compiler):
        examples = sorted((ROOT / "examples").glob("*.c"))
        self.assertTrue(examples)
        for example in examples:
            with self.subTest(example.name):
                program = self.build(example, compiler)
                self.exec_twice(4, program, *(["0.001", "0.0002"] if example.name == "pulled_cable.c" else []))

    def test_examples(self):
        self.check_examples("mpicc")

    @needs("mpicc.mpich")
    def test_examples_built_for_mpich(self):
        self.check_examples("mpicc.mpich")

    def check_benchmark(self, compiler):
        program = self.build(str(ROOT / "bench/mpi/main.c"), compiler,
                             *(str(each) for each in (ROOT / "bench/mpi").glob("*.c") if each.name != "main.c"), "-lm")
        for words in ("latency -m 1:64 -i 20 -c", "bw -m 65536:131072 -i 4 -c", "allreduce -m 8:64 -i 4 -c",
                      "overlap_exchange -s 1048576 -i 2", "rma_get_bw -m 65536:131072 -i 4", "rma_pscw -i 20"):
            done = self.exec_twice(2, program, *words.split())
            self.assertRegex(done.stdout, r"(?m)^\d+ +[\d.]+", words)

    def test_benchmarks(self):
        self.check_benchmark("mpicc")

    @needs("mpicc.mpich")
    def test_benchmarks_built_for_mpich(self):
        self.check_benchmark("mpicc.mpich")


class Scale(Case):
    """What a rank costs. The bounds have a tenth to spare."""

    def memory(self, ranks, *words):
        """Bytes that the simulator takes at the most."""
        command = [PROGRAMS / "hawser", "sim", "exec", "-n", str(ranks), "--compute-scale", "0", self.folder / "program", *words]
        with open(self.folder / "output", "w+") as output:
            process = subprocess.Popen(command, cwd=self.folder, stdout=output, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            told = output.read()
        self.assertEqual(process.returncode, 0, told)
        self.assert_lines(told, "0 wrong")
        return usage.ru_maxrss * 1024

    def test_memory_of_a_rank(self):
        self.build("scale.c")
        most = 1_900_000
        self.assertLess((self.memory(256) - self.memory(64)) / (256 - 64), most)

    def test_memory_of_a_pair_that_talks(self):
        self.build("scale.c")
        small, large, most = 32, 96, 38_000
        pairs = large * (large - 1) - large / small * small * (small - 1)
        self.assertLess((self.memory(large, "pairs") - large / small * self.memory(small, "pairs")) / pairs, most)


class Campaign(Case):
    """`hawser sim campaign --program`."""

    def campaign(self, program, *words, code=0):
        done = subprocess.run([PROGRAMS / "hawser", "sim", "campaign", "--program", program, "-n", "4", "--jobs", "2", *words],
                              cwd=self.folder, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_program_that_is_right_under_faults(self):
        said = self.campaign(self.build("traffic.c"), "--seeds", "1..40", "--", "3", "20000")
        self.assertRegex(said, "40 seeds .*: 0 failed")

    def test_faults_are_drawn_and_reach_the_program(self):
        result = self.folder / "result.json"
        program = self.build("traffic.c")
        failures = 0
        for seed in range(1, 11):
            self.exec(4, program, options=["--fabric", "two-switch", "--seed", str(seed), "--draw-faults", "300",
                                           "--json", result])
            failures += json.loads(result.read_text())["rails"]["failures"]
        self.assertGreater(failures, 5)

    def test_program_that_is_wrong_is_found(self):
        """One that prints how long it took, and one that fails."""
        source = self.folder / "slow.c"
        source.write_text("#include <mpi.h>\n#include <stdio.h>\nint main(int c, char** v) { MPI_Init(&c, &v); char b[1 << 18] = {0};\n"
                          "double t = MPI_Wtime(); for (int i = 0; i < 50; ++i) MPI_Bcast(b, 1 << 18, MPI_CHAR, 0, MPI_COMM_WORLD);\n"
                          "t = MPI_Wtime() - t; printf(\"%.9f\\n\", t); MPI_Finalize(); return 0; }\n")
        program = self.build(str(source))
        self.assertRegex(self.campaign(program, "--seeds", "1..20", code=1), r"seed \d+ fails: prints '0\.")
        self.assertRegex(self.campaign(program, "--seeds", "1..20", "--any-output"), "0 failed")
        self.assertRegex(self.campaign(self.build("ends.c"), "--seeds", "1..2", "--", "code", code=2), "ends with code 7 without faults")
        self.assertRegex(self.campaign(self.folder / "nothing", "--seeds", "1..2", code=2), "cannot read .*nothing")


if __name__ == "__main__":
    main(*sys.argv[2:])
