"""Counts the public members of classes: data and functions, overloads once; not constructors, destructors, operators,
types, friends and what is inherited."""
import re

import rules

ROOMS = ("channel", "rails")
LIMIT = 24
HEAD = re.compile(r"\b(class|struct)\s+(?:\[\[\w+\]\]\s*)?([\w:]+)(?:\s+final)?\s*(?::[^;{()]*)?\{")
SKIPPED = re.compile(r"^(?:using|typedef|friend|static_assert|enum|class|struct|union|template\s*<[^;]*>\s*(?:class|struct)|"
                     r"HAWSER_\w+|#)\b")
NAME = re.compile(r"(~?\w+)\s*(?:\[[^\]]*\]\s*)*$")


def close_of(text, start):
    """The place of the brace that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return at
    return len(text)


def declarations(body):
    """The declarations of a class in order, bodies and values taken out; labels of access stand alone."""
    text, at = [], 0
    while at < len(body):
        char = body[at]
        if char == "{":
            at = close_of(body, at)
            rest = body[at + 1:].lstrip()
            text.append(" " if rest[:1] in ",;{" else ";")
        elif char == ":" and re.search(r"\b(public|private|protected)\s*$", "".join(text[-12:])):
            text.append(";")
        else:
            text.append(char)
        at += 1
    return [" ".join(part.split()) for part in "".join(text).split(";") if part.strip()]


def names_of(declaration, owner):
    """The names that a declaration adds."""
    if SKIPPED.match(declaration) or "operator" in declaration:
        return []
    declaration = re.sub(r"\[\[\w+\]\]|\balignas\([^)]*\)", "", declaration)
    head = re.split(r"=(?![^<]*>)", declaration, maxsplit=1)[0]
    call = re.search(r"(~?\w+)\s*\(", head)
    if call:
        return [] if call.group(1).lstrip("~") == owner else [call.group(1)]
    while re.search(r"<[^<>]*>", declaration):
        declaration = re.sub(r"<[^<>]*>", "", declaration)
    found = [NAME.search(part.split("=")[0].split(" : ")[0].strip()) for part in declaration.split(",")]
    return [match.group(1) for match in found if match]


def public_members(text):
    """(class, line, set of names) of each class of a source without comments and strings."""
    for head in HEAD.finditer(text):
        if re.search(r"\benum\s+$", text[:head.start()]):
            continue
        start = head.end() - 1
        access, names = "public" if head.group(1) == "struct" else "private", set()
        for part in declarations(text[start + 1:close_of(text, start)]):
            if part in ("public", "private", "protected"):
                access = part
            elif access == "public":
                names.update(names_of(part, head.group(2).split("::")[-1]))
        yield head.group(2), text.count("\n", 0, head.start()) + 1, names


def check_members(path, text, exceptions, report, limit=LIMIT):
    if not path.startswith(tuple(f"src/{room}/" for room in ROOMS)) or rules.is_test(path):
        return
    for name, line, names in public_members(rules.strip_comments(text)):
        if len(names) > limit and not exceptions.allow("members", path, name):
            report(path, line, "members", f"{name} has {len(names)} public members; at most {limit}")
