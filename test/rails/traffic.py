"""A job of two processes that exchange checked messages without end (steady_traffic)."""
import os
import subprocess
import time

from fabric_case import PATIENCE
from hawser_lab import processes


class Traffic:
    """For a case that has `started`, the processes to be ended after it."""

    def start_job(self, command, **variables):
        self.job = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    text=True, bufsize=1, env={**os.environ, **variables})
        self.started.append(self.job)
        self.goes_on()

    def ask(self):
        self.job.stdin.write("tell\n")

    def answer(self):
        return processes.read_line(self.job)

    def rounds(self):
        """Rounds since the last question, and the longest of them in milliseconds."""
        self.ask()
        line = self.answer()
        self.assertRegex(line, r"^\d+ \d+$", line + (self.job.stdout.read() if not line[:1].isdigit() else ""))
        rounds, longest = line.split()
        return int(rounds), int(longest) / 1000

    def goes_on(self, least=40):
        end = time.monotonic() + PATIENCE
        total, longest = 0, 0
        while total < least:
            self.assertLess(time.monotonic(), end, f"only {total} rounds")
            rounds, pause = self.rounds()
            total += rounds
            longest = max(longest, pause)
        return longest

    def finish_job(self):
        self.job.stdin.close()
        self.job.stdin = None
        output, _ = self.job.communicate(timeout=PATIENCE)
        self.assertEqual(self.job.returncode, 0, output)
        self.assertRegex(output, r"\d+ rounds right")
