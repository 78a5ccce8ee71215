"""Tuning logs: what MetaSchedule prints, and what it writes into ``work_dir/logs``.

A table of tasks after each batch has the latency of each winner. The log of a task also has a line for each
trial; where both are there, they have to agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from abtune.errors import DatasetError
from abtune.ingest.importers import Imported, Importer, Inputs, Option, Values
from abtune.ingest.searches.log_tasks import Line, Task, is_of_a_log, read_tasks
from abtune.ingest.searches.searches import Search, fastest, import_searches
from abtune.ingest.sources import Source, check_new
from abtune.ingest.texts import naming, read_text, reading


def _read(sources: Sequence[Source], values: Values) -> Imported:
    """Return the dataset of the logs of all runs."""
    seen: dict[bytes, Path] = {}
    runs: dict[Source, list[Search]] = {}
    for source in sources:
        lines = _log_lines(source.path)
        check_new("\n".join(line.text for line in lines), source.path, seen)
        tasks = read_tasks(lines)
        with naming(source.path):
            runs[source] = _searches(tasks)
    return import_searches(runs, each="log", shape=values["shape"], attrs={"title": "MetaSchedule logs"})


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
    read=_read,
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


def _log_lines(path: Path) -> list[Line]:
    with reading(path):
        files = logs_in(path) if path.is_dir() else [path]
    if not files:
        raise DatasetError(f"{path}: has no *.log, and neither has its folder logs")
    return [
        Line(file=file, number=number, text=text)
        for file in files
        for number, text in enumerate(read_text(file).split("\n"), start=1)
    ]


def _searches(tasks: Mapping[str, Task]) -> list[Search]:
    if not tasks:
        raise DatasetError("no table of tasks and no trial in it")
    for task in tasks.values():
        _check_task(task)
    return [
        Search(label=task.label, trials=task.trials or task.told, flop=task.flop) for task in tasks.values()
    ]


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
