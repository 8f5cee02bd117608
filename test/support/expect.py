#!/usr/bin/env python3
"""Runs a command and checks both its exit code and what it says: ctest's own PASS_REGULAR_EXPRESSION does not look at the
code, and WILL_FAIL takes a crash for a refusal.  Usage: expect.py CODE REGEX COMMAND..."""
import re
import subprocess
import sys

from cases import SKIPPED

code, pattern, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
print(done.stdout, end="")
if done.returncode == SKIPPED and code != SKIPPED:
    sys.exit(SKIPPED)
wrong = [] if done.returncode == code else [f"exit code {done.returncode}, not {code}"]
wrong += [] if re.search(pattern, done.stdout, re.S) else [f"no '{pattern}' in what it says"]
sys.exit("; ".join(wrong) or 0)
