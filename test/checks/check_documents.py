#!/usr/bin/env python3
"""Checks that README.md and the pages of doc/ have lines of at most 120 columns, tables, code and addresses excepted.
Usage: check_documents.py ROOT [--wrap] [--except PAGE]...
With --wrap, breaks the paragraphs anew that have longer ones."""
import argparse
import pathlib
import re
import sys

MAX_COLUMNS = 120
GLUE = "\0"  # stands for a space at which no line ends
ITEM = re.compile(r"(\s*)([-*+]|\d+[.)])\s+")
# What would be markup at the beginning of a line.
MARKUP = re.compile(r"[-+*]|\d+[.)]|#{1,6}|>.*|\|.*|=+|-+|```.*|~~~.*")


def blocks(lines):
    """Pairs (lines, whether they are text that may be broken elsewhere): paragraphs and items of lists, and the rest."""
    block, fenced = [], False
    for line in lines:
        fence = line.lstrip().startswith(("```", "~~~"))
        fixed = fenced or fence or not line.strip() or line.lstrip().startswith(("|", "#", "<"))
        if fence:
            fenced = not fenced
        if block and (fixed or ITEM.match(line)):
            yield block, True
            block = []
        if fixed:
            yield [line], False
        else:
            block.append(line)
    if block:
        yield block, True


def glued(text):
    text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda code: code.group().replace(" ", GLUE), text)
    words = text.split(" ")
    out = words[0]
    for word in words[1:]:
        out += (GLUE if MARKUP.fullmatch(word) else " ") + word
    return out


def wrap(block):
    """The lines of a paragraph or an item, broken so that each is as long as it may be."""
    item = ITEM.match(block[0])
    first = item.group() if item else re.match(r"\s*", block[0]).group()
    following = re.match(r"\s*", block[1]).group() if len(block) > 1 else " " * len(first)
    text = " ".join([block[0][len(first):].strip()] + [line.strip() for line in block[1:]])
    lines, line = [], first
    for word in glued(re.sub(" +", " ", text)).split(" "):
        if line.strip() and line != first and len(line) + 1 + len(word) > MAX_COLUMNS:
            lines.append(line)
            line = following + word
        else:
            line += word if line == first else " " + word
    return [each.replace(GLUE, " ") for each in lines + [line]]


def is_long(line):
    """Addresses are longer than others, and cannot be broken."""
    return len(line) > MAX_COLUMNS and not re.fullmatch(r"\s*([-*+]\s+)?\S*", line)


def wrapped(text):
    out = []
    for block, breakable in blocks(text.split("\n")):
        out += wrap(block) if breakable and any(map(is_long, block)) else block
    return "\n".join(out)


def problems_of(name, text):
    number = 1
    for block, breakable in blocks(text.split("\n")):
        for line in block:
            if breakable and is_long(line):
                yield (f"{name}:{number}: [columns] {len(line)} columns; at most {MAX_COLUMNS}: "
                       "test/checks/check_documents.py . --wrap breaks lines")
            number += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--wrap", action="store_true")
    parser.add_argument("--except", dest="left_out", action="append", default=[])
    arguments = parser.parse_args()
    root = arguments.root
    left_out = [root / page for page in arguments.left_out]
    pages = [page for page in (root / "README.md", *sorted((root / "doc").glob("*.md"))) if page not in left_out]
    problems = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if arguments.wrap:
            better = wrapped(text)
            assert better.split() == text.split()
            page.write_text(better, encoding="utf-8")
            text = better
        problems += problems_of(page.relative_to(root), text)
    print("\n".join(problems + [f"{len(pages)} pages checked, {len(problems)} problems"]))
    return 1 if problems or len(pages) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
