"""The rows of auto_against_all as cells: medians over the uneven tables, summaries, and a picture."""

import csv
import math
import statistics

COLOURS = {"one path": "#d62728", "auto": "#1f77b4", "even": "#9a9a9a", "adaptive": "#b0a060", "round_robin": "#c8c8c8",
           "bss": "#7fa07f", "one path, epc": "#e0a050", "one path, round_robin": "#e8c8c8",
           "one engine": "#17becf"}
PORTS = {(1, 1): "one rail", (2, 1): "two rails", (1, 2): "two engines"}


def with_rows(file_name):
    """(ports, ranks, pattern, class, KiB, tables) -> rows, name of a column -> median."""
    with open(file_name, newline="") as file:
        rows = list(csv.DictReader(file))
    columns = ["bound", *(name for name in rows[0] if name in COLOURS)]
    groups = {}
    for row in rows:
        key = (PORTS[int(row["rails"]), int(row["engines"])], f"{row['pattern']} of {row['ranks']}", row["class"],
               int(row["bytes"]) // 1024, "even" if row["seed"] == "0" else "uneven")
        groups.setdefault(key, []).append(row)
    return {key: (group, {name: statistics.median(float(row[name]) for row in group) for name in columns if group[0][name]})
            for key, group in groups.items()}


def read(file_name):
    return {key: times for key, (_, times) in with_rows(file_name).items()}


def is_doubtful(key, times):
    """More than a tenth behind the best setting, or on even tables more than 2 % behind one path."""
    return times["auto"] > 1.1 * best_other(times) or (key[-1] == "even" and times["auto"] > 1.02 * times["one path"])


def rivals(times):
    best = min((time, name) for name, time in times.items() if name not in ("auto", "bound"))[1]
    return ["auto", *dict.fromkeys(("one path", best))]


def best_other(times):
    return min(time for name, time in times.items() if name not in ("auto", "bound"))


def summary(name, ratios):
    return f"{name}: geometric mean {statistics.geometric_mean(ratios):.3f}, greatest {max(ratios):.2f}"


def print_summary(cells):
    """One line for each kind of port and table, and for all."""
    print("| ports | tables | cells | auto / best: mean, greatest | above 1.10 | auto / one path | auto / bound |")
    print("|---|---|---|---|---|---|---|")
    kinds = [*dict.fromkeys((key[0], key[-1]) for key in cells), ("all", "all")]
    for ports, tables in kinds:
        group = [times for key, times in cells.items() if ports == "all" or (key[0], key[-1]) == (ports, tables)]
        best = [times["auto"] / best_other(times) for times in group]
        one = [times["auto"] / times["one path"] for times in group]
        bound = [times["auto"] / times["bound"] for times in group]
        print(f"| {ports} | {tables} | {len(group)} | {statistics.geometric_mean(best):.3f}, {max(best):.2f} | "
              f"{sum(ratio > 1.1 for ratio in best)} | {statistics.geometric_mean(one):.3f}, {max(one):.2f} | "
              f"{statistics.geometric_mean(bound):.2f}, {max(bound):.2f} |")


def print_table(cells):
    names = [name for name in COLOURS if any(name in times for times in cells.values())]
    print("| ports | pattern | class | KiB | tables | bound | " + " | ".join(names) + " | auto / best |")
    print("|" + "---|" * (len(names) + 7))
    for key, times in cells.items():
        print("| " + " | ".join([*map(str, key), f"{times['bound']:.0f}",
                                 *(f"{times[name]:.0f}" if name in times else "" for name in names),
                                 f"{times['auto'] / best_other(times):.2f}"]) + " |")
    print()
    print_summary(cells)


TITLE = "Time of a round as a multiple of the bound, fat trees of 144 hosts, four LIDs"


def picture(cells, colours=COLOURS, title=TITLE, ratios=(1, 1.5, 2, 3, 5, 10), width=230):
    """A row for each pattern, class, size and kind of tables; beside one another the kinds of ports; a dot for each
    setting: its time as a multiple of the bound, on a logarithmic scale that ends with the last of the ratios."""
    ports = list(dict.fromkeys(key[0] for key in cells))
    lines = list(dict.fromkeys(key[1:] for key in cells))
    label, top, step, most = 265, 76, 13, ratios[-1]
    height = top + step * len(lines) + 30
    whole = label + width * len(ports)
    place = lambda panel, ratio: label + width * panel + (width - 24) * min(math.log(max(ratio, 1)) / math.log(most), 1)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {height}" font-family="sans-serif" font-size="10">',
           f'<rect width="{whole}" height="{height}" fill="white"/>',
           f'<text x="10" y="18" font-size="13">{title}</text>']
    for i, (name, colour) in enumerate(colours.items()):
        out.append(f'<circle cx="{14 + 105 * i}" cy="34" r="4" fill="{colour}"/>'
                   f'<text x="{22 + 105 * i}" y="38">{name}</text>')
    for panel, name in enumerate(ports):
        out.append(f'<text x="{place(panel, 1):.0f}" y="58" font-weight="bold">{name}</text>')
        for ratio in ratios:
            x = f"{place(panel, ratio):.1f}"
            out.append(f'<line x1="{x}" y1="{top - 8}" x2="{x}" y2="{height - 22}" stroke="#e0e0e0"/>'
                       f'<text x="{x}" y="{height - 8}" text-anchor="middle">{ratio:g}</text>')
    for i, line in enumerate(lines):
        y = top + step * i
        pattern, traffic, kib, tables = line
        out.append(f'<text x="10" y="{y + 4}">{pattern}, {traffic}, {kib} KiB, {tables}</text>')
        for panel, name in enumerate(ports):
            times = cells.get((name, *line), {})
            for setting in sorted(times, key=lambda setting: "auto" in setting):  # auto on top
                if setting != "bound":
                    out.append(f'<circle cx="{place(panel, times[setting] / times["bound"]):.1f}" cy="{y}" r="3.5" '
                               f'fill="{colours[setting]}"/>')
    return "\n".join([*out, "</svg>", ""])
