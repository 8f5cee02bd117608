#!/usr/bin/env python3
"""Checks that the sources can be compiled several at a time, as scripts/demo does (HAWSER_UNITY).

Usage: check_unity.py ROOT.  Names of unnamed namespaces must not meet: use another, share the function, or exempt the file in
its CMakeLists.txt (SKIP_UNITY_BUILD_INCLUSION).
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
import tempfile


def compiled(entry):
    """What is wrong with one file; nothing is written."""
    words = [word for word in shlex.split(entry["command"]) if word != "-O2"]
    at = words.index("-o")
    words[at + 1] = os.devnull
    while not words[0].endswith("++"):
        del words[0]  # ccache
    done = subprocess.run([*words, "-fsyntax-only"], cwd=entry["directory"], capture_output=True, text=True)
    return done.stderr if done.returncode != 0 else ""


def configured(root, folder, tests):
    """The commands that compile several sources, after a configuration with HAWSER_TESTS=`tests`."""
    for command in (["cmake", "-S", root, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", f"-DHAWSER_TESTS={tests}",
                     "-DHAWSER_UNITY=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"],
                    ["cmake", "--build", folder, "--target", "hawser_generated"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        entries = [entry for entry in json.load(file) if "/Unity/unity_" in entry["file"]]
    if len(entries) < 20:
        raise SystemExit(f"only {len(entries)} files of several sources")
    return entries


def main():
    root = sys.argv[1]
    # scripts/demo has no tests, sanitizers have: then some sources are compiled alone, and others meet.
    checked, problems = 0, []
    for tests in ("OFF", "ON"):
        with tempfile.TemporaryDirectory() as folder:
            entries = configured(root, folder, tests)
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                problems += [text for text in pool.map(compiled, entries) if text]
            checked += len(entries)
    for text in problems:
        print("\n".join(line for line in text.splitlines() if "error" in line or "included from" in line.lower()))
    print(f"{checked} files checked, {len(problems)} with problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
