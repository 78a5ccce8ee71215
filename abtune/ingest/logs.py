"""Tuning logs: what MetaSchedule prints and what it writes into ``work_dir/logs``.

A log is one run. Two things are read from it: the table of tasks, whose last state has the latency of each
winner, and a line for each trial, which only the log of a task has (``*.task_0_main.log``), not the
console. Where both are there they have to agree. Times are as printed, to 0.1 ns.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import xarray as xr

from abtune.errors import DatasetError
from abtune.ingest.reading import Contents, Source, read_text, wrong_kind
from abtune.ingest.searches import Search, assemble_searches, shape_named
from abtune.schema import TrialStatus

_TRIAL = re.compile(
    r"\[Task #(?P<id>\d+): (?P<task>.+?)\] Trial #(?P<number>\d+): "
    r"(?:GFLOPs: \S+\. Time: (?P<time>\S+) (?P<unit>us|ms)\.|Error in (?P<error>building|running))"
)
_INITIALIZING = re.compile(r"Initializing Task #(?P<id>\d+): ")
_HEADING = ("id", "name", "flop", "weight")
_SIGNATURE = re.compile(r"^ +def (?P<name>\w+)\((?P<arguments>.*T\.Buffer.*)\)")
_BUFFER = re.compile(r"T\.Buffer[\[(]\((?P<size>[\d, ]+)\)")
_ONE_RUN = "one log holds one run, whole: split it where the second begins, or give the right file"
_MICROSECOND = {"us": 1e-6, "ms": 1e-3}


@dataclass(slots=True)
class Task:
    """What a log says of one task, as it is read."""

    name: str
    flop: float = math.nan
    latency: float = math.nan
    counted: int = 0
    done: bool = True
    listed: bool = False
    trials: list[tuple[TrialStatus, float]] = field(default_factory=list)
    sizes: str = ""

    @property
    def label(self) -> str:
        """Its name and, if they are known, the sizes of its arguments."""
        return f"{self.name}({self.sizes})" if self.sizes else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line and where it is."""

    file: Path
    number: int
    text: str

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return f"{self.file}: line {self.number}"


def read_logs(sources: Sequence[Source], *, shape: str) -> xr.Dataset:
    """Read the logs of all runs into one dataset.

    Parameters
    ----------
    sources : sequence of Source
        Files, or folders with the logs of one run.
    shape : str
        Label of the only task; empty to go by the names of tasks and the sizes of their arguments.

    Raises
    ------
    DatasetError
        With file, line and what to do, at the first thing that is wrong.
    """
    contents = Contents()
    runs: dict[Source, list[Search]] = {}
    flop: dict[str, tuple[float, Path]] = {}
    for source in sources:
        lines = list(_lines(source.path))
        contents.add(source.path, "\n".join(line.text for line in lines))
        tasks = _read_tasks(lines)
        _check_labels(tasks, source.path)
        if not tasks:
            hint = wrong_kind("\n".join(line.text for line in lines[:200]), "logs")
            raise DatasetError(f"{source.path}: no table of tasks and no trial in it{hint}")
        if shape and len(tasks) > 1:
            labels = ", ".join(task.label for task in tasks.values())
            raise DatasetError(f"{source.path}: has {len(tasks)} tasks ({labels}); --shape names one")
        runs[source] = [_search(task, shape, source.path) for task in tasks.values()]
        for search in runs[source]:
            _check_flop(search, flop, source.path)
    return assemble_searches(runs, attrs={"title": "MetaSchedule logs"})


def _check_labels(tasks: Mapping[str, Task], path: Path) -> None:
    """Refuse two tasks of one name unless the sizes of both tell them apart."""
    unsized = {task.name for task in tasks.values() if not task.sizes}
    first: dict[str, str] = {}
    for number, task in tasks.items():
        label = task.name if task.name in unsized else task.label
        if first.setdefault(label, number) != number:
            raise DatasetError(
                f"{path}: tasks {first[label]} and {number} are both {label}, and nothing here tells their "
                "shapes apart; import the database in the work_dir of this run: abtune import databases"
            )


def _check_flop(search: Search, flop: dict[str, tuple[float, Path]], path: Path) -> None:
    """Refuse two workloads under one name, such as ``main``."""
    if math.isnan(search.flop):
        return
    known, where = flop.setdefault(search.label, (search.flop, path))
    if known != search.flop:
        raise DatasetError(
            f"{path}: {search.label} takes {search.flop:.0f} operations here and {known:.0f} in {where}: two "
            "shapes of one name; import them apart, each with --shape LABEL, or give folders that hold the "
            "tasks' own logs"
        )


def _lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a file, or of all logs of a folder."""
    files = [path]
    if path.is_dir():
        files = sorted(path.glob("*.log")) or sorted(path.glob("logs/*.log"))
        if not files:
            raise DatasetError(f"{path}: has no *.log, and neither has its folder logs")
    for file in files:
        for number, text in enumerate(read_text(file).splitlines(), start=1):
            yield Line(file=file, number=number, text=text)


def _read_tasks(lines: Sequence[Line]) -> dict[str, Task]:
    """Return what there is of each task, by its number in the search."""
    tasks: dict[str, Task] = {}
    sizes: dict[tuple[str, str], str] = {}
    columns: list[str] | None = None
    current = ""  # the task that a printed module is of, if that is known
    for at, line in enumerate(lines):
        if line.number == 1:
            columns, current = None, ""
        if match := _TRIAL.search(line.text):
            current = match["id"]
            after = lines[at + 1].text if at + 1 < len(lines) else ""
            _add_trial(_task(tasks, current, match["task"], line.place), match, line.place, after)
            continue
        cells = [cell.strip() for cell in line.text.split("|")]
        if tuple(cell.casefold() for cell in cells[:4]) == _HEADING:
            columns = [cell.casefold() for cell in cells]
        elif columns and len(cells) == len(columns) and cells[0].isdigit():
            row = dict(zip(columns, cells, strict=True))
            _set_state(_task(tasks, row["id"], row["name"], line.place), row, line.place)
        elif not set(line.text) <= {"-"}:
            columns = None  # the table has ended
            if match := _INITIALIZING.search(line.text):
                current = match["id"]
            elif match := _SIGNATURE.match(line.text):
                sizes.setdefault((current, match["name"]), _sizes(match["arguments"]))
    return _with_sizes(tasks, sizes)


def _task(tasks: dict[str, Task], number: str, name: str, place: str) -> Task:
    """Return the task of a number, which is new or has that name."""
    task = tasks.setdefault(number, Task(name=name))
    if task.name != name:
        raise DatasetError(f"{place}: task {number} is {name} here and {task.name} above; {_ONE_RUN}")
    return task


def _with_sizes(tasks: Mapping[str, Task], sizes: Mapping[tuple[str, str], str]) -> dict[str, Task]:
    """Return the tasks of which there is a result, each with the sizes of its arguments if they are known."""
    found = {number: task for number, task in tasks.items() if task.trials or task.counted or task.flop > 0}
    names = Counter(task.name for task in found.values())
    for number, task in found.items():
        alone = sizes.get(("", task.name), "") if names[task.name] == 1 else ""
        task.sizes = sizes.get((number, task.name), alone)
    return found


def _sizes(arguments: str) -> str:
    found = [re.findall(r"\d+", match["size"]) for match in _BUFFER.finditer(arguments)]
    return ",".join("x".join(extents) for extents in found)


def _add_trial(task: Task, match: re.Match[str], place: str, after: str) -> None:
    number = int(match["number"])
    if number != len(task.trials) + 1:
        raise DatasetError(
            f"{place}: trial {number} of {match['task']} follows trial {len(task.trials)}; {_ONE_RUN}"
        )
    if match["error"]:
        status = TrialStatus.BUILD_FAILED if match["error"] == "building" else TrialStatus.RUN_FAILED
        status = TrialStatus.TIMED_OUT if "Timeout, killed after" in after else status
        task.trials.append((status, math.nan))
    else:
        seconds = _number(match["time"], place) * _MICROSECOND[match["unit"]]
        task.trials.append((TrialStatus.OK, seconds))


def _set_state(task: Task, row: dict[str, str], place: str) -> None:
    """Take over a row of the table; a later one replaces it, and may only go on from it."""
    try:
        latency, flop, trials = row["latency (us)"], row["flop"], row["trials"]
    except KeyError as error:
        raise DatasetError(f"{place}: the table has no column {error}") from None
    ended = row.get("done", row.get("terminated"))  # as older versions say
    if ended is None:
        raise DatasetError(
            f"{place}: the table has no column 'done', so nothing says that the search ended; give the whole "
            "log, or import the database in its work_dir: abtune import databases"
        )
    done = ended == "Y"
    seconds = math.nan if latency == "N/A" else _number(latency, place) * 1e-6
    counted = int(_number(trials, place)) if trials != "0" else 0
    operations = _number(flop, place)
    how = ""
    if counted < task.counted:
        how = f"{counted} trials follow {task.counted}"
    elif task.listed and task.done and not done:
        how = "it is not done, and was above"
    elif not (math.isnan(task.latency) or seconds <= task.latency):
        how = f"latency {latency} follows {1e6 * task.latency:.4f}"
    elif task.listed and operations != task.flop:
        how = f"{flop} operations follow {task.flop:.0f}"
    if how:
        raise DatasetError(f"{place}: task {task.name}: {how}; {_ONE_RUN}")
    task.done, task.latency, task.flop, task.counted, task.listed = done, seconds, operations, counted, True


def _number(text: str, place: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise DatasetError(f"{place}: {text!r} is not a number") from None
    if not 0 < number < math.inf:
        raise DatasetError(f"{place}: {text} is not a positive number")
    return number


def _search(task: Task, shape: str, path: Path) -> Search:
    if not task.done:
        raise DatasetError(
            f"{path}: the last table says that {task.label} was not done; the log was cut short, or the "
            "search was interrupted; import the database in its work_dir, or the log of a search that ended"
        )
    timed = [latency for status, latency in task.trials if status is TrialStatus.OK]
    best = min(timed, default=math.nan)
    # The table rounds to 0.1 ns, as the lines do.
    both = task.trials and task.counted and not (math.isnan(best) and math.isnan(task.latency))
    if both and not math.isclose(best, task.latency, rel_tol=1e-4, abs_tol=2e-10):
        raise DatasetError(
            f"{path}: the best trial of {task.label} took {1e6 * best:.4f} us, but the table says "
            f"{1e6 * task.latency:.4f}; the logs are of two runs, or one was cut short"
        )
    label = shape or task.label
    return Search(
        label=label,
        shape=shape_named(label),
        flop=task.flop,
        latency=best if task.trials else task.latency,
        trial_latency=[latency for _, latency in task.trials],
        trial_status=[status for status, _ in task.trials],
        winner="",
    )
