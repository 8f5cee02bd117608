"""The page: sections that were drawn, the targets, the machine; one HTML file that needs nothing else."""
import pathlib
from dataclasses import dataclass, field

from .charts import escape, legend
from .figures import counted

HERE = pathlib.Path(__file__).resolve().parent


@dataclass
class Figure:
    svg: str
    caption: str
    keys: list = field(default_factory=list)  # (style, label, dashed)
    wide: bool = False
    small: bool = False


@dataclass
class Table:
    title: str
    head: list
    rows: list  # of cells; a cell is text or (text, class)
    open: bool = False


@dataclass
class Target:
    what: str
    figure: str
    wanted: str
    good: bool


@dataclass
class Section:
    key: str
    title: str
    intro: str = ""
    seen: list = field(default_factory=list)  # sentences, HTML
    targets: list = field(default_factory=list)
    figures: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    headline: list = field(default_factory=list)  # (figure, what it is)
    failed: str = ""
    facts: str = ""  # how it was measured
    short: str = ""  # its name in the list of contents
    listed: bool = True  # there

    @property
    def name(self):
        """For the list of contents."""
        return self.short or {"startup": "Start-up", "unlike": "Unlike rails", "hpcc": "HPCC"}.get(
            self.key, self.key.capitalize()
        )

    @property
    def missed(self):
        return [target for target in self.targets if not target.good]


def html_figure(figure):
    kind = " wide" if figure.wide else " small" if figure.small else ""
    keys = legend(figure.keys) if figure.keys else ""
    return f'<figure class="box{kind}"><figcaption>{figure.caption}</figcaption>{keys}{figure.svg}</figure>'


def html_cell(cell, tag="td"):
    text, style = cell if isinstance(cell, tuple) else (cell, "")
    return f'<{tag}{f" class={style}" if style else ""}>{escape(text)}</{tag}>'


def html_table(table):
    head = "".join(html_cell(cell, "th") for cell in table.head)
    body = "".join(f"<tr>{''.join(map(html_cell, row))}</tr>" for row in table.rows)
    inner = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    if not table.title:
        return inner
    return (
        f"<details{' open' if table.open else ''}><summary>{escape(table.title)}</summary>{inner}</details>"
    )


def verdict(good):
    return ("met", "good") if good else ("missed", "bad")


def html_targets(section):
    rows = [[target.what, target.figure, target.wanted, verdict(target.good)] for target in section.targets]
    count = sum(target.good for target in section.targets)
    return html_table(Table(f"Targets: {count} of {len(rows)} met", ["what", "measured", "wanted", ""], rows))


def html_section(section):
    out = [f'<section id="{section.key}"><h2>{escape(section.title)}</h2>']
    if section.intro:
        out.append(f'<p class="intro">{section.intro}</p>')
    if section.failed:
        out.append(
            f'<div class="failed"><b>This benchmark failed.</b><pre>{escape(section.failed)}</pre></div>'
        )
    if section.seen:
        out.append("<ul class=seen>" + "".join(f"<li>{sentence}</li>" for sentence in section.seen) + "</ul>")
    if section.missed:
        out.append(
            '<ul class="seen misses">'
            + "".join(
                f"<li><b>Target missed:</b> {escape(target.what)}: {escape(target.figure)}; wanted"
                f" {escape(target.wanted)}</li>"
                for target in section.missed
            )
            + "</ul>"
        )
    groups = []
    for figure in section.figures:  # neighbours of one kind share a grid
        kind = "wide" if figure.wide else "small" if figure.small else "half"
        if not groups or groups[-1][0] != kind:
            groups.append((kind, []))
        groups[-1][1].append(html_figure(figure))
    out += [f'<div class="figures {kind}">{"".join(figures)}</div>' for kind, figures in groups]
    if section.targets:
        out.append(html_targets(section))
    out += map(html_table, section.tables)
    if section.facts:
        out.append(f'<p class="facts">{section.facts}</p>')
    return "".join(out) + "</section>"


def summary(sections):
    targets = [target for section in sections for target in section.targets]
    missed = [(section, target) for section in sections for target in section.missed]
    failed = [section for section in sections if section.failed]
    tiles = (
        [(f"{len(targets) - len(missed)} of {len(targets)}", "targets met", "bad" if missed else "good")]
        if targets
        else []
    )
    if failed:
        tiles.append(
            (str(len(failed)), counted(len(failed), "benchmark").split(" ", 1)[1] + " failed", "bad")
        )
    tiles += [(figure, what, "") for section in sections for figure, what in section.headline]
    out = [
        '<div class="tiles">'
        + "".join(
            f'<div class="tile {style}"><b>{escape(figure)}</b><span>{escape(what)}</span></div>'
            for figure, what, style in tiles
        )
        + "</div>"
    ]
    for section in failed:
        out.append(
            f'<p class="failed"><b>Failed:</b> <a href="#{section.key}">{escape(section.title)}</a>: '
            f"{escape(section.failed.strip().splitlines()[-1])}</p>"
        )
    if missed:
        out.append(
            '<h3>Targets that are missed</h3><ul class="seen misses">'
            + "".join(
                f'<li><a href="#{section.key}">{escape(section.title)}</a>: {escape(target.what)}:'
                f" {escape(target.figure)}, wanted {escape(target.wanted)}</li>"
                for section, target in missed
            )
            + "</ul>"
        )
    return "".join(out)


def html_page(title, subtitle, sections, machine, again):
    """`machine` is a Table, `again` HTML that says how to run it again."""
    contents = "".join(
        f'<a href="#{section.key}">{escape(section.name)}{" (failed)" if section.failed else ""}</a>'
        for section in sections
        if section.listed
    )
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("style.css", "hover.js"))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{escape(title)}</title><style>{style}</style></head>
<body><header><h1>{escape(title)}</h1><p>{escape(subtitle)}</p>{summary(sections)}</header>
<nav>{contents}<a href="#machine">Machine</a></nav><main>{"".join(map(html_section, sections))}
<section id="machine"><h2>Machine and versions</h2>{html_table(machine)}{again}</section></main>
<div id="tip" hidden></div><script>{script}</script></body></html>
"""
