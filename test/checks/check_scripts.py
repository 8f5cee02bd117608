#!/usr/bin/env python3
"""Runs shellcheck over every shell script of the repository, by its first line.  Usage: check_scripts.py ROOT"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from cases import leave, missing  # noqa: E402

SHEBANG = re.compile(rb"#!.*\b(ba|da)?sh\b")


def scripts(root):
    for top in ("scripts", "bench", "test", "src", "examples"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    if SHEBANG.match(file.readline()):
                        yield path


def main():
    found = sorted(path for path in scripts(sys.argv[1]) if not path.endswith(".in"))  # templates are not shell yet
    if not found:
        print("there is no script")
        return 1
    absent = missing("shellcheck")
    if absent:
        leave(absent)
    # Below warnings are matters of taste.
    code = subprocess.run(["shellcheck", "--severity=warning", *found], check=False).returncode
    print(f"{len(found)} scripts checked")
    return code


if __name__ == "__main__":
    sys.exit(main())
