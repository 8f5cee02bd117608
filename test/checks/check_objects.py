#!/usr/bin/env python3
"""Checks compiled objects of the rooms that may not touch the machine: no writable data, no forbidden imports.

Usage: check_objects.py ROOT BUILD. Sees what a scan of sources cannot: data of templates, of macros and of
generated code, and calls that a library's header makes on our behalf. Unit tests and programs are left out.
"""
import os
import re
import subprocess
import sys

import rules

WRITABLE = re.compile(r"^\.(?:data|bss|tdata|tbss)(?!\.rel\.ro)(?:\.|$)")


def object_files(build):
    """(room, path) of every object of a room's library. Test programs and generators are not the library."""
    for folder, folders, files in os.walk(build):
        folders.sort()
        # A room's target is named after it, or stands in the room's own CMakeLists.txt.
        match = re.search(r"CMakeFiles/hawser_(\w+?)\.dir", folder)
        inside = re.search(r"/src/(\w+)/(?:.*/)?CMakeFiles/hawser_\w+\.dir", folder)
        room = inside.group(1) if inside else match.group(1).split("_")[0] if match else None
        if room not in rules.EDGES:
            continue
        for name in sorted(files):
            if name.endswith(".o") and "_test.cpp" not in name and "_main.cpp" not in name:
                yield room, os.path.join(folder, name)


def source_of(build, path):
    """src/room/file.cpp or generated/..., for exceptions.txt."""
    name = re.sub(r"^.*?\.dir/", "", os.path.relpath(path, build))
    position = max(name.find("src/"), name.find("generated/"))
    if position >= 0:
        name = name[position:]
    else:
        name = os.path.relpath(path, build).split("/CMakeFiles/")[0] + "/" + name
    return re.sub(r"\.o$", "", name)


def symbols(path):
    """(name, section, size) of each symbol; section *UND* for imports."""
    output = subprocess.run(["objdump", "-tw", path], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        match = re.match(r"^[0-9a-f]{16} .{7} (\S+)\s+([0-9a-f]{16})\s+(?:\.hidden |\.protected |\.internal )?(\S+)$", line)
        if match:
            yield match.group(3), match.group(1), int(match.group(2), 16)


def check(build, exceptions):
    problems, count, rooms = [], 0, set()
    for room, path in object_files(build):
        count += 1
        rooms.add(room)
        if room in rules.MACHINE_ROOMS:
            continue
        source = source_of(build, path)
        for name, section, size in symbols(path):
            if section == "*UND*":
                plain = name.split("@")[0]
                if rules.FORBIDDEN_IMPORTS.match(plain) and not exceptions.allow("import", source, plain):
                    problems.append(f"{source}: [import] {plain}: outside {', '.join(sorted(rules.MACHINE_ROOMS))}")
            elif WRITABLE.match(section) and size > 0 and not name.startswith((".", "DW.ref.")):
                # DW.ref.*: the compiler's pointers to personality routines.
                if not exceptions.allow("data", source, name):
                    problems.append(f"{source}: [data] {demangle(name)} ({size} bytes in {section}) can change")
    return problems, count, rooms


def demangle(name):
    return subprocess.run(["c++filt", name], check=True, capture_output=True, text=True).stdout.strip()


def main():
    root, build = sys.argv[1], sys.argv[2]
    exceptions = rules.Exceptions(os.path.join(os.path.dirname(os.path.abspath(__file__)), "exceptions.txt"))
    problems, count, rooms = check(build, exceptions)
    with_sources = {room for room in rules.EDGES if any(
        path.startswith(f"src/{room}/") and path.endswith(".cpp") and not path.endswith(("_test.cpp", "_main.cpp"))
        for path in rules.sources(root))}
    if with_sources <= rooms:  # a partial build proves nothing about exceptions
        problems += exceptions.unused({"data", "import"})
    rules.show(problems)
    print(f"{count} objects of {len(rooms)} rooms checked, {len(problems)} problems")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
