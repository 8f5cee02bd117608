#!/usr/bin/env python3
"""Checks the sources: include direction between rooms, banned constructs, lengths.  Usage: check_sources.py ROOT"""
import os
import re
import sys

import public_members
import rules

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
# A definition that starts in the first column; its body ends at the brace in the first column.
FUNCTION = re.compile(r"^(?!namespace|class|struct|enum|union|extern|typedef|using|#|\}|/)[^\s].*\{$")


def room_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check_includes(path, text, rooms, exceptions, report):
    room = room_of(path)
    code = rules.strip_comments(text, keep_strings=True)
    allowed = rules.reachable(room) | {room} if room else None
    for match in INCLUDE.finditer(code):
        target = match.group(2)
        where = line_of(code, match.start(2))
        if target.startswith("infiniband/") and room and room not in rules.VERBS_ROOMS:
            if not exceptions.allow("include", path, target):
                report(path, where, "include", f"<{target}>: only access/ and verbs/ see libibverbs")
        other = target.split("/")[0]
        if "/" not in target or other not in rooms:
            continue
        if not downward(path, target) and not exceptions.allow("floor", path, target):
            report(path, where, "floor", f'"{target}": {os.path.dirname(path)}/ lies below it')
        if room is None or other in allowed or exceptions.allow("include", path, target):
            continue
        report(path, where, "include", f'"{target}": {room}/ may not include {other}/')


def downward(path, target):
    """Whether the include goes down within a room that has floors, or has nothing to do with them."""
    own = rules.floor_of(path.removeprefix("src/")) if path.startswith("src/") and not rules.is_test(path) else None
    other = rules.floor_of(target)
    return own is None or other is None or own[0] != other[0] or other[1] <= own[1]


def check_floor(path, report):
    if path.startswith("src/") and rules.floor_of(path.removeprefix("src/")) and rules.floor_of(path.removeprefix("src/"))[1] < 0:
        report(path, 1, "floor", "a floor that rules.py does not know")


def check_bans(path, text, exceptions, report):
    room = room_of(path)
    bans = list(rules.BANNED_EVERYWHERE)
    if room and room not in rules.MACHINE_ROOMS and not rules.is_test(path) and not path.endswith("_main.cpp"):
        bans += rules.BANNED_OUTSIDE_MACHINE_ROOMS
    code = rules.strip_comments(text)
    for rule, expression, advice in bans:
        if rule == "pointer-keyed" and rules.is_test(path):
            continue  # a test may look up by address; it has no order to keep
        # "Unfinished" marks stand in comments as a rule.
        subject = text if rule == "unfinished" else code
        for match in re.finditer(expression, subject, re.M):
            token = " ".join(match.group(0).split())
            if not exceptions.allow(rule, path, token.replace(" ", "")):
                report(path, line_of(subject, match.start() + len(match.group(0)) - len(match.group(0).lstrip())),
                       rule, f"`{token}`: {advice}")


def check_lengths(path, text, exceptions, report):
    lines = text.split("\n")
    count = len(lines) - 1
    if count > rules.MAX_FILE_LINES and not exceptions.allow("file-length", path):
        report(path, count, "file-length", f"{count} lines; at most {rules.MAX_FILE_LINES}")
    if path.endswith((".def", ".inc")):
        return
    start = None
    for number, line in enumerate(lines, 1):
        if len(line) > rules.MAX_COLUMNS and "http" not in line and not rules.is_test(path) and not exceptions.allow("columns", path):
            report(path, number, "columns", f"{len(line)} columns; at most {rules.MAX_COLUMNS}")
        if FUNCTION.match(line):
            start = number
        elif line.startswith("}") and start is not None:
            length = number - start + 1
            if length > rules.MAX_FUNCTION_LINES and not exceptions.allow("function-length", path):
                report(path, start, "function-length", f"{length} lines; at most {rules.MAX_FUNCTION_LINES}")
            start = None


def check_header(path, text, exceptions, report):
    if path.endswith(".h") and path.startswith("src/") and "#pragma once" not in text:
        if not exceptions.allow("header", path):
            report(path, 1, "header", "no `#pragma once`")


def check(root, exceptions):
    problems = []

    def report(path, line, rule, message):
        problems.append(f"{path}:{line}: [{rule}] {message}")

    rooms = set(rules.EDGES)
    for entry in sorted(os.listdir(os.path.join(root, "src"))):
        if os.path.isdir(os.path.join(root, "src", entry)) and entry not in rooms:
            report(f"src/{entry}", 1, "include", "a room that rules.py does not know")
    checked = set()
    for path in rules.sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as source:
            text = source.read()
        check_includes(path, text, rooms, exceptions, report)
        check_floor(path, report)
        check_bans(path, text, exceptions, report)
        check_lengths(path, text, exceptions, report)
        check_header(path, text, exceptions, report)
        public_members.check_members(path, text, exceptions, report)
        checked.add(path)
    names = {rule for rule, _, _ in rules.BANNED_EVERYWHERE + rules.BANNED_OUTSIDE_MACHINE_ROOMS}
    problems += exceptions.unused(names | {"include", "floor", "file-length", "function-length", "columns", "header", "members"})
    return problems, len(checked)


def main():
    exceptions = rules.Exceptions(os.path.join(os.path.dirname(os.path.abspath(__file__)), "exceptions.txt"))
    problems, count = check(sys.argv[1], exceptions)
    rules.show(problems)
    print(f"{count} files checked, {len(problems)} problems")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
