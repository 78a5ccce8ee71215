"""Tuning logs: what MetaSchedule prints, and what it writes into ``work_dir/logs``.

A table of tasks after each batch has the latency of each winner. The log of a task also has a line for each
trial; where both are there, they have to agree.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from abtune.dataset.schema import TrialStatus
from abtune.errors import DatasetError, naming
from abtune.ingest.importers import Importer, Inputs, Option
from abtune.ingest.searches.searches import Trial, TuningRun, fastest, search_reader
from abtune.ingest.texts import reading
from abtune.ingest.units import read_number
from abtune.text import shortened

# Every repetition has a limit, so that the search takes time linear in the length of a line.
_TRIAL = re.compile(
    r"\[Task #(?P<id>\d{1,9}): (?P<task>[^\[\]]{1,400})\] Trial #(?P<number>\d{1,9}): "
    r"(?:GFLOPs: \S{1,60}\. Time: (?P<time>\S{1,60}) (?P<unit>us|ms)\.|Error in (?P<error>building|running))",
    re.ASCII,
)
_INITIALIZING = re.compile(r"Initializing Task #(?P<id>\d{1,9}): ", re.ASCII)
# Versions before 0.10 print no table after this line.
_FINISHED = re.compile(r"Task #(?P<id>\d{1,9}) has finished\. Remaining task", re.ASCII)
_BUFFER = re.compile(r"T\.Buffer[\[(]\((?P<size>(?:T\.int64\(\d+\)|[\d, ])+)\)", re.ASCII)
_HEADING = ("id", "name", "flop", "weight")
_ONE_RUN = "one log holds one run: split it where the second run begins, or give the right file"
_MICROSECOND = {"us": 1e-6, "ms": 1e-3}
# The number of trials in a table. More than seven digits are damage, and would fill the memory.
_TRIALS = re.compile(r"[0-9]{1,7}")


@dataclass(slots=True)
class Task:
    """What a log says of one task, as it is read."""

    name: str
    flop: float = math.nan  # NaN before the first row of the table
    done: bool = True
    first: int = 1  # the number of its first trial, which was 0 in 2022
    trials: list[Trial] = field(default_factory=list)  # one for each line about a trial
    # By the table, which tells only the best time after each batch: the last trial of the batch has it.
    told: list[Trial] = field(default_factory=list)
    best: float = math.nan  # seconds, by the last row of the table
    sizes: str = ""

    @property
    def label(self) -> str:
        """Its name and, if they are known, the sizes of its arguments."""
        return f"{self.name}({self.sizes})" if self.sizes else self.name


def read_tasks(logs: Mapping[Path, str]) -> dict[str, Task]:
    """Return what the texts of one run's logs say of each task, by its number in the search."""
    tasks: dict[str, Task] = {}
    sizes: dict[tuple[str, str], str] = {}
    for path, text in logs.items():
        with naming(path):
            _read_log(text, tasks, sizes)
    return _with_sizes(tasks, sizes)


def _read_log(text: str, tasks: dict[str, Task], sizes: dict[tuple[str, str], str]) -> None:
    """Add what a log says of tasks, and of the sizes of functions by the task and the name."""
    columns: list[str] | None = None
    current = ""  # number of the task whose module is printed, if that is known
    lines = [*text.split("\n"), ""]
    for number, (line, after) in enumerate(itertools.pairwise(lines), start=1):
        where = f"line {number}"
        if line.startswith("Total trials:"):  # below the last row of a table
            columns = None
        if match := _TRIAL.search(line):
            current = match["id"]
            with naming(where):
                _add_trial(_task(tasks, current, match["task"]), match, after)
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if _is_heading(cells):
            columns, current = [cell.casefold() for cell in cells], ""  # what is printed below is of no task
        elif columns and len(cells) == len(columns) and cells[0].isascii() and cells[0].isdigit():
            row = dict(zip(columns, cells, strict=True))
            with naming(where):
                _add_state(_task(tasks, row["id"], row["name"]), row)
        # Left out, this row would lose a shape without a word.
        elif columns and len(cells) > len(columns) // 2:
            broken = "is no row of the table above it; the log has other output, too"
            remedy = "give the logs in work_dir, or its database: abtune import databases"
            raise DatasetError(f"{where}: {broken}; {remedy}")
        elif match := _INITIALIZING.search(line):
            current = match["id"]
        elif (match := _FINISHED.search(line)) and match["id"] in tasks:
            tasks[match["id"]].done = True
        elif signature := _signature(line):
            sizes.setdefault((current, signature[0]), signature[1])


def is_of_a_log(text: str) -> bool:
    """Return whether a line reports a trial, or is the heading of a table of tasks."""
    return _TRIAL.search(text) is not None or _is_heading([cell.strip() for cell in text.split("|", 4)])


def _is_heading(cells: Sequence[str]) -> bool:
    return tuple(cell.casefold() for cell in cells[: len(_HEADING)]) == _HEADING


def _task(tasks: dict[str, Task], number: str, name: str) -> Task:
    task = tasks.setdefault(number, Task(name=name))
    if task.name != name:
        raise DatasetError(f"task {number} is {name} here and {task.name} above; {_ONE_RUN}")
    return task


def _with_sizes(tasks: Mapping[str, Task], sizes: Mapping[tuple[str, str], str]) -> dict[str, Task]:
    """Return the tasks that have a result, each with the sizes of its arguments if they are known."""
    known = {number: task for number, task in tasks.items() if task.trials or task.flop > 0}
    names = Counter(task.name for task in known.values())
    for number, task in known.items():
        alone = sizes.get(("", task.name), "") if names[task.name] == 1 else ""
        task.sizes = sizes.get((number, task.name)) or sizes.get((number, "main"), alone)  # as of Relax
    # Tasks of one name are told apart by the sizes of all of them, or not at all.
    unsized = {task.name for task in known.values() if not task.sizes}
    for task in known.values():
        task.sizes = "" if task.name in unsized else task.sizes
    return known


def _signature(text: str) -> tuple[str, str] | None:
    """Return the name of a printed function and the sizes of its buffers; None for any other line."""
    stripped = text.lstrip(" ")
    name, _, rest = stripped.removeprefix("def ").partition("(")
    arguments = rest[: rest.rfind(")") + 1]
    if stripped == text or not stripped.startswith("def ") or "T.Buffer" not in arguments:
        return None
    sizes = [re.findall(r"\b\d+", match["size"], re.ASCII) for match in _BUFFER.finditer(arguments)]
    return name, ",".join("x".join(extents) for extents in sizes)


def _add_trial(task: Task, match: re.Match[str], after: str) -> None:
    number = int(match["number"])
    if number == 0 and not task.trials:
        task.first = 0
    if number != len(task.trials) + task.first:
        follows = f"trial {number} of {match['task']} follows trial {len(task.trials)}"
        raise DatasetError(f"{follows}; {_ONE_RUN}")
    status, seconds = TrialStatus.OK, math.nan
    if not match["error"]:
        seconds = _positive(match["time"]) * _MICROSECOND[match["unit"]]
    # TVM writes the reason of an error into the line below.
    elif "Timeout, killed after" in after:
        status = TrialStatus.TIMED_OUT
    else:
        status = TrialStatus.BUILD_FAILED if match["error"] == "building" else TrialStatus.RUN_FAILED
    task.trials.append((status, seconds))


def _add_state(task: Task, row: dict[str, str]) -> None:
    """Add a row of the table, which has to follow from the one before it."""
    ended = row.get("done", row.get("terminated"))  # older versions say terminated
    if ended is None or not row.keys() >= {"latency (us)", "flop", "trials"}:
        remedy = "give the whole log, or the database in its work_dir: abtune import databases"
        raise DatasetError(
            f"the table lacks one of the columns FLOP, Latency (us), Trials and Done; {remedy}"
        )
    latency, trials = row["latency (us)"], row["trials"]
    if not _TRIALS.fullmatch(trials):
        raise DatasetError(f"{shortened(trials)!r} is not a number of trials")
    new = int(trials) - len(task.told)
    seconds = math.nan if latency == "N/A" else _positive(latency) * 1e-6
    operations, done = _positive(row["flop"]), ended == "Y"
    is_first = math.isnan(task.flop)
    follows = is_first or (operations == task.flop and done >= task.done)
    # A time that was known cannot become unknown, and there is none before the first trial.
    improves = seconds <= task.best if task.best > 0 else math.isnan(seconds) or int(trials) > 0
    if new < 0 or not follows or not improves:
        row_says = f"{trials} trials, latency {latency} and {row['flop']} operations"
        raise DatasetError(f"task {task.name}: {row_says} cannot follow the row above it; {_ONE_RUN}")
    task.done, task.flop = done, operations
    task.told += [(TrialStatus.UNKNOWN, math.nan)] * new
    if not (math.isnan(seconds) or seconds >= task.best):
        task.told[-1] = TrialStatus.OK, seconds
    task.best = seconds


def _positive(text: str) -> float:
    number = read_number(text)
    if not 0 < number < math.inf:
        raise DatasetError(f"{text} is not a positive number")
    return number


def _files_of(path: Path) -> list[Path]:
    with reading(path):
        files = logs_in(path) if path.is_dir() else [path]
    if not files:
        raise DatasetError(f"{path}: has no *.log, and neither has its folder logs")
    return files


def _searches(path: Path, logs: Mapping[Path, str]) -> list[TuningRun]:
    tasks = read_tasks(logs).values()
    with naming(path):
        if not tasks:
            raise DatasetError("no table of tasks and no trial in it")
        for task in tasks:
            _check_task(task)
    return [TuningRun(label=task.label, trials=task.trials or task.told, flop=task.flop) for task in tasks]


def _recognises(path: Path, text: str) -> bool:
    if text:
        return any(map(is_of_a_log, text.split("\n")))
    return path.is_dir() and len(logs_in(path)) > 0


def logs_in(folder: Path) -> list[Path]:
    """Return the logs in a folder, else those in its folder ``logs``."""
    return sorted(folder.glob("*.log")) or sorted(folder.glob("logs/*.log"))


LOGS = Importer(
    name="logs",
    kind="a tuning log",
    summary="""Read MetaSchedule's tuning logs, one for each run.

    PATH is what ms.tune_tir printed, or a work_dir with its logs, which also have every trial. Nobody
    measured the winners again, so each time is the search's own, with the digits that were printed.
    """,
    recognises=_recognises,
    read=search_reader("MetaSchedule logs", _searches, files_of=_files_of, seed_unit="log"),
    inputs=Inputs.RUNS,
    run_is="A tuning log, or a folder with the logs of one run",
    options=(
        Option(name="shape", metavar="LABEL", help="Label of the only task. [default: its name and sizes]"),
    ),
    examples="""
  abtune import logs --run old='tuned/old-*' --run new='tuned/new-*' --out t.nc
  abtune import logs --run old=old.txt --run new=new.txt --shape M=512_N=256_K=640 --out t.nc
  abtune import logs --pattern '{config}_outputs/{shape}_t=5000/*.txt' --out t.nc
""",
)


def _check_task(task: Task) -> None:
    """Check that a search ended, and that its trials and its table agree."""
    if not task.done:
        raise DatasetError(
            f"the last table says that {task.label} was not done; the log was cut short, or the "
            "search was interrupted; import the database in its work_dir, or the log of a search that ended"
        )
    best, listed = fastest(task.trials), task.best
    both = task.trials and task.told and not (math.isnan(best) and math.isnan(listed))
    # The table rounds to 0.1 ns, as the lines do.
    if both and not math.isclose(best, listed, rel_tol=1e-4, abs_tol=2e-10):
        differ = f"{task.label} took {1e6 * best:.4f} us, but the table says {1e6 * listed:.4f}"
        raise DatasetError(f"the best trial of {differ}; the logs are of two runs, or one was cut short")
