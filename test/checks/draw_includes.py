#!/usr/bin/env python3
"""Draws which parts of a room include which, and says what is wrong with that: circles, and arrows from a floor to one
above it.

usage: draw_includes.py ROOM [--root DIR] [--files] [--format text|dot|mermaid]

ROOM is a folder below src/, "rails" or "channel". The parts are its folders (floors); with --files each header with its
source. Tests are left out. Exit status 1: there is a circle or an arrow up.
"""
import argparse
import collections
import os
import re
import sys

import rules

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def part_of(path, room, files):
    """What stands for a path (relative to src/) in the drawing."""
    inside = path[len(room) + 1:]
    if files:
        return os.path.splitext(inside)[0]
    return inside.split("/")[0] if "/" in inside else "(top)"


def edges_of(root, room, files):
    """Counts of includes by (from, to), and all parts."""
    edges, parts = collections.Counter(), set()
    for path in rules.sources(root):
        if not path.startswith(f"src/{room}/") or rules.is_test(path):
            continue
        own = part_of(path.removeprefix("src/"), room, files)
        parts.add(own)
        with open(os.path.join(root, path), encoding="utf-8") as source:
            text = rules.strip_comments(source.read(), keep_strings=True)
        for target in INCLUDE.findall(text):
            if target.startswith(room + "/"):
                other = part_of(target, room, files)
                if other != own:
                    edges[own, other] += 1
    return edges, parts


def circles_of(edges, parts):
    """The strongly connected sets of more than one part (Tarjan's algorithm, without recursion)."""
    below = collections.defaultdict(list)
    for (own, other), _ in sorted(edges.items()):
        below[own].append(other)
    order, low, stack, found = {}, {}, [], []
    for start in sorted(parts):
        if start in order:
            continue
        order[start] = low[start] = len(order)
        stack.append(start)
        todo = [(start, iter(below[start]))]
        while todo:
            part, rest = todo[-1]
            step = next(rest, None)
            if step is None:
                todo.pop()
                if todo:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[part])
                if low[part] == order[part]:
                    circle = []
                    while not circle or circle[-1] != part:
                        circle.append(stack.pop())
                    if len(circle) > 1:
                        found.append(sorted(circle))
            elif step not in order:
                order[step] = low[step] = len(order)
                stack.append(step)
                todo.append((step, iter(below[step])))
            elif step in stack:
                low[part] = min(low[part], order[step])
    return found


def arrows_up(edges, room):
    """Arrows to a higher floor. Without floors, none."""
    floors = rules.FLOORS.get(room, [])
    height = {floor: number for number, floor in enumerate(floors)}

    def place(part):
        return height.get(part.split("/")[0], len(floors))

    return [pair for pair in sorted(edges) if floors and place(pair[1]) > place(pair[0])]


def draw(edges, parts, room, form):
    floors = rules.FLOORS.get(room, []) + ["(top)"]
    first = {floor: number for number, floor in enumerate(floors)}
    ordered = sorted(parts, key=lambda part: (-first.get(part.split("/")[0], len(floors)), part))
    if form == "text":
        for part in ordered:
            to = [f"{other} {count}" for (own, other), count in sorted(edges.items()) if own == part]
            print(f"{part:<28} -> {', '.join(to)}" if to else part)
        return
    names = {part: re.sub(r"\W", "_", part) for part in parts}
    print("digraph includes {" if form == "dot" else "graph TD")
    for part in ordered:
        print(f'  {names[part]} [label="{part}"];' if form == "dot" else f'  {names[part]}["{part}"]')
    for (own, other), count in sorted(edges.items()):
        print(f'  {names[own]} -> {names[other]} [label="{count}"];' if form == "dot"
              else f"  {names[own]} -->|{count}| {names[other]}")
    if form == "dot":
        print("}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--format", choices=["text", "dot", "mermaid"], default="text")
    options = parser.parse_args()
    edges, parts = edges_of(options.root, options.room.strip("/"), options.files)
    if not parts:
        parser.error(f"src/{options.room} has no sources")
    draw(edges, parts, options.room, options.format)
    circles, up = circles_of(edges, parts), arrows_up(edges, options.room)
    comment = {"text": "", "dot": "// ", "mermaid": "%% "}[options.format]
    print(f"{comment}{len(parts)} parts, {sum(edges.values())} includes, {len(circles)} circle(s), {len(up)} arrow(s) up")
    for circle in circles:
        print(f"{comment}circle: {' '.join(circle)}")
    for own, other in up:
        print(f"{comment}up: {own} -> {other}")
    return 1 if circles or up else 0


if __name__ == "__main__":
    sys.exit(main())
