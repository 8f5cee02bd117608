"""Sections: overlap of communication and computation; start to end of a job."""
from .axes import linear_axis, log_axis
from .charts import bar_chart
from .figures import listed, short, spread, with_range
from .libraries import LABELS
from .page import Figure, Section, Table

NAMES = {
    "exchange": "Exchange (Isend and Irecv)",
    "one_way": "One way (Isend to Irecv)",
    "sender": "One way, the sender alone computes",
    "receiver": "One way, the receiver alone computes",
    "iallreduce": "MPI_Iallreduce",
    "ialltoall": "MPI_Ialltoall",
}
SHAPE = {"width": 480, "height": 270}


def bars(libraries, groups):
    """[(style, label, [spread of each group])] of {library: values} of each group."""
    return [(library, LABELS[library], [spread(group[library]) for group in groups]) for library in libraries]


def bar_keys(libraries):
    return [(library, LABELS[library], "bar") for library in libraries]


def who_adds_least(rows):
    ahead = [
        str(row["tests"]) for row in rows if row["ratio_of_added"] is not None and row["ratio_of_added"] <= 1
    ]
    if not ahead:
        return "a peer adds less than Hawser with every number of calls"
    return "Hawser adds least " + (
        "whatever the number of calls"
        if len(ahead) == len(rows)
        else f"with {listed(ahead)} calls, a peer with the others"
    )


def middle_hidden(row, library):
    return spread([sample[0] for sample in row["samples"][library]])[0]


def draw_overlap(results):
    section = Section(
        "overlap",
        "Overlap of communication and computation",
        (
            "Two ranks exchange 1 MiB while they compute for as long as the communication alone takes,"
            " calling MPI_Testall so many times meanwhile. Shown is what the communication adds to the"
            " computation: 0 would be perfect overlap. Within a node nobody but the cores themselves copies"
            " the bytes, so little can be hidden. Lower is better."
        ),
    )
    rows = results.get("overlap", [])
    for operation in dict.fromkeys(row["operation"] for row in rows):
        mine = [row for row in rows if row["operation"] == operation]
        libraries = list(mine[0]["samples"])
        added = [
            {name: [max(0, sample[1]) for sample in row["samples"][name]] for name in libraries}
            for row in mine
        ]
        series = bars(libraries, added)
        most = max((found[2] for _, _, each in series for found in each if found), default=1)
        title = NAMES.get(operation, operation)
        svg = bar_chart(
            title,
            [row["tests"] for row in mine],
            series,
            "calls of MPI_Testall in the computation",
            linear_axis("added to the computation (us)", most),
            "us",
            **SHAPE,
        )
        section.figures.append(Figure(svg, title, bar_keys(libraries)))
        section.seen.append(
            f"<b>{title}</b>: {who_adds_least(mine)}; hidden at best "
            + listed(
                f"{LABELS[name]} {max(middle_hidden(row, name) for row in mine):.0f} %"
                for name in libraries
                if all(row["samples"][name] for row in mine)
            )
            + " of the communication."
        )
    body = [
        [
            row["operation"],
            str(row["tests"]),
            *(
                with_range(spread([sample[which] for sample in row["samples"][name]]))
                for which in (0, 1, 2)
                for name in row["samples"]
            ),
        ]
        for row in rows
    ]
    if rows:
        names = [LABELS[name] for name in rows[0]["samples"]]
        section.tables.append(
            Table(
                "Hidden (%), added (us), communication alone (us): median (lowest to highest) of the runs",
                [
                    "operation",
                    "tests",
                    *(f"{name} {what}" for what in ("%", "added", "alone") for name in names),
                ],
                body,
            )
        )
    return section


LAUNCHERS = {"hawser": "Hawser, mpiexec", "mpich": "MPICH, Hydra", "openmpi": "Open MPI, mpirun"}


def draw_startup(results):
    section = Section(
        "startup",
        "Start to end of an empty job",
        (
            "A program of MPI_Init and MPI_Finalize under each MPI's own launcher, from the command to its"
            " end. Lower is better."
        ),
    )
    rows = results.get("startup", [])
    if not rows:
        return section
    libraries = [name for name in LAUNCHERS if name == "hawser" or name in rows[0]]
    series = [(style, LAUNCHERS[style], found) for style, _, found in bars(libraries, rows)]
    axis = log_axis(
        "start to end (ms)", [value for _, _, each in series for found in each for value in found]
    )
    axis.low /= 2  # the shortest bar can be seen, too
    title = "Start to end of an empty job"
    svg = bar_chart(title, [row["ranks"] for row in rows], series, "ranks", axis, "ms", **SHAPE)
    section.figures.append(Figure(svg, title, [(style, label, "bar") for style, label, _ in series]))
    ours, *peers = ((LAUNCHERS[name], spread(rows[-1][name])[0]) for name in libraries)
    beside = listed(f"{short(time)} ms with {label} ({ours[1] / time:.2f} times)" for label, time in peers)
    section.seen.append(f"{rows[-1]['ranks']} ranks start and end in {short(ours[1])} ms; {beside}.")
    best = min(time for _, time in peers)
    section.headline.append(
        (
            f"{short(ours[1])} ms",
            f"start to end of {rows[-1]['ranks']} empty ranks; better peer {short(best)} ms",
        )
    )
    columns = [*libraries, *(f"true_{name}" for name in libraries)]
    section.tables.append(
        Table(
            "ms: median (lowest to highest) of the runs; /bin/true shows the launcher's share",
            [
                "ranks",
                *map(LAUNCHERS.get, libraries),
                *(f"/bin/true, {LAUNCHERS[name]}" for name in libraries),
            ],
            [[str(row["ranks"]), *(with_range(spread(row[name])) for name in columns)] for row in rows],
        )
    )
    return section
