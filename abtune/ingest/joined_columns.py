"""Columns that become a label, such as sizes of perf_report, and columns of runs that become lines."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from abtune.ingest.table_columns import (
    FIELDS,
    NEVER,
    RUNS,
    SHAPES,
    SIZE,
    is_summary,
    known_heading,
    lacks_names,
    measured,
    time_columns,
)
from abtune.ingest.units import MISSING, UNITS, is_statistic

# A size as perf_report of Triton writes it, 256.000000; with units in the other headings also 256.
_WHOLE = re.compile(r"(\d{1,18})(\.0+)?")
# The lines of Compare of torch.utils.benchmark that have no cells, and the one below all of its tables.
_COMPARE = re.compile(r"\[-* (?P<title>.*) -*\]|(?P<threads>\d{1,9}) threads?: -*")
_COMPARE_UNIT = re.compile(r"Times are in \w+ \((s|ms|us|ns)\)\.")
_Row: TypeAlias = tuple[int, list[str]]
# The column of one run: run1_us, rep 2 (ms), seed_3.
_RUN = re.compile(rf"(seed|{'|'.join(sorted(RUNS))})[ _-]?(\d{{1,9}})")


def with_labels(rows: Iterable[_Row], *, least: int = 2, by_name: bool = False) -> Iterable[_Row]:
    """Return a table with its sizes in one column: M=256_N=256_K=256. Any other table stays as it is.

    A table of sizes has at least ``least`` other columns. With ``by_name`` and no units, each has its name.
    """
    rows = iter(rows)
    number, heading = next(rows, (0, []))
    if not heading or not _may_be_size(heading[0]):  # no million lines in memory
        return itertools.chain([(number, heading)], rows)
    rows = list(rows)
    end = _count_sizes(heading, [row for _, row in rows if len(row) == len(heading)], by_name=by_name)
    table = [(number, heading), *rows]
    return join_columns(table, range(end)) if 0 < end <= len(heading) - least else table


def with_runs(rows: Iterable[_Row]) -> Iterator[_Row]:
    """Yield a table with a line for each run, if run1_us, run2_us, ... are columns; any other as it is.

    Columns of a mean or a deviation beside them are left out: they follow from the runs.
    """
    rows = iter(rows)
    line, heading = next(rows, (0, []))
    runs: dict[int, str] = {}  # the number of the run by its column
    kinds = set[tuple[str, str]]()
    for index, name in enumerate(heading):
        known = known_heading(name, UNITS)
        if known and (match := _RUN.fullmatch(known.name.casefold())):
            runs[index] = match[2]
            kinds.add((match[1], known.unit))
    others = [index for index, name in enumerate(heading) if index not in runs and not is_statistic(name)]
    if len({*map(int, runs.values())}) < max(2, len(runs)) or len(kinds) > 1:
        yield from itertools.chain([(line, heading)], rows)
        return
    ((run, unit),) = kinds
    yield line, [*(heading[index] for index in others), run, f"time_{unit}" if unit else "time"]
    for line, row in rows:
        if len(row) != len(heading):  # readers refuse a line that lacks as many cells
            yield line, ["?"] * max(1, len(others) + 2 + len(row) - len(heading))
            continue
        for index, number in runs.items():
            if row[index].casefold() not in MISSING:
                yield line, [*(row[other] for other in others), number, row[index]]


def join_columns(rows: Iterable[_Row], joined: Sequence[int], name: str = "shape") -> Iterator[_Row]:
    """Yield a table in which a first column of this name stands for several: gemm_M=512_N=256."""
    rows = iter(rows)
    line, heading = next(rows)
    others = [index for index in range(len(heading)) if index not in joined]
    yield line, [name, *(heading[index] for index in others)]
    for line, row in rows:
        if len(row) != len(heading):  # readers refuse a line that lacks as many cells
            yield line, ["?"] * max(1, 1 + len(others) + len(row) - len(heading))
            continue
        first, *_ = values = [_whole(row[index]) for index in joined]
        named = [f"{heading[index]}={value}" for index, value in zip(joined, values, strict=True)]
        # A word first, such as the name of a kernel, says what the others are sizes of.
        label = "_".join([first, *named[1:]] if first[:1].isalpha() else named)
        yield line, [first if is_summary(first) else label, *(row[index] for index in others)]


def _may_be_size(name: str) -> bool:
    folded = name.casefold()  # as a part of each label, it cannot be a page
    return 0 < len(name) < 100 and not NEVER.fullmatch(folded) and folded not in (*SHAPES, *FIELDS)


def _whole(cell: str) -> str:
    """Return a whole number without the digits behind its point; any other cell as it is."""
    return match[1] if (match := _WHOLE.fullmatch(cell)) else cell


def _count_sizes(heading: Sequence[str], rows: Sequence[Sequence[str]], *, by_name: bool) -> int:
    """Return how many columns at the beginning are sizes: whole numbers in all rows, and without a unit.

    Timestamps and measured numbers may be whole, too. So only a column with the name of a size, in a table
    with units, may lack a point, as in 256.0. In a table with a line for each time, all need such names.
    """
    units = [known.unit if (known := known_heading(name, UNITS)) else "" for name in heading]
    named = [len(name) == 1 or SIZE.fullmatch(name.casefold()) is not None for name in heading]
    has_units, is_long = any(units), bool(time_columns(heading))

    def is_size(index: int) -> bool:
        matches = [_WHOLE.fullmatch(row[index]) for row in rows]
        may_lack_point = named[index] and has_units
        is_size = all(match and (match[2] or may_lack_point) for match in matches) and not units[index]
        return is_size and (named[index] or has_units or not by_name)

    end = len(list(itertools.takewhile(is_size, range(len(heading)))))
    certain = all(named[:end]) if is_long else has_units or all(named[1:end])
    is_table = rows and not lacks_names(heading)
    return end if is_table and certain and all(map(_may_be_size, heading[:end])) else 0


def printed_rows(lines: Sequence[str]) -> tuple[dict[int, str], dict[int, list[str]]]:
    """Return the titles and rows, by numbers of lines, of what ``triton.testing.perf_report`` prints."""
    titles: dict[int, str] = {}
    rows: dict[int, list[str]] = {}
    for number, (title, heading) in enumerate(itertools.pairwise(lines), start=2):
        # Below a title with a colon, pandas prints a heading, and rows that begin with their numbers.
        names = re.split(" {2,}", heading.strip()) if title.endswith(":") and heading[:1] == " " else []
        if len(names) < 2:
            continue
        titles[number], rows[number] = title.removesuffix(":"), ["", *names]
        for below in range(number, len(lines)):
            cells = lines[below].split()
            if len(cells) != len(names) + 1 or not lines[below][:1].isdigit():
                break
            rows[below + 1] = cells
    return titles, rows


def titles_of(text: str) -> tuple[str, ...]:
    """Return the titles and numbers of threads in what ``perf_report`` or ``Compare`` prints."""
    lines = text.split("\n")
    compared = [line.strip("[- ]:") for line, below in itertools.pairwise(lines) if _title(line, below)]
    return tuple(dict.fromkeys((*printed_rows(lines)[0].values(), *compared)))


def _title(line: str, below: str) -> re.Match[str] | None:
    """Return what a line of ``Compare`` says above cells; None for a line that is no title."""
    return _COMPARE.fullmatch(line.strip()) if "|" in below else None


def compared_rows(lines: Sequence[str]) -> dict[int, list[str]]:
    """Return the rows, by numbers of lines, of what ``Compare`` of ``torch.utils.benchmark`` prints."""
    rows: dict[int, list[str]] = {}
    headings: list[int] = []  # below the titles in brackets; the unit of all tables stands at the end
    where: dict[int, tuple[str, str]] = {}  # the title and the threads of each line
    title = threads = ""
    for number, (line, below) in enumerate(itertools.pairwise([*lines, ""]), start=1):
        if match := _title(line, below):
            title, threads = match["title"] or title, match["threads"] or ""
            headings += [number + 1] * (match["threads"] is None)
            rows |= {number: [""]} if match["threads"] else {}
        elif headings and "|" in line:
            bars = len(rows.get(headings[-1], "")) - 1  # a label may hold others; -1 of a heading is all
            cells = [re.sub(r" *\((\+-|! ).*\)$", "", cell.strip()) for cell in line.rsplit("|", bars)]
            rows[number], where[number] = cells, (title, threads)
        elif headings and not line.strip():
            rows[number] = [""]  # a blank line ends no table here
        elif unit := _COMPARE_UNIT.fullmatch(line.strip()):
            for heading in headings:
                names = rows.get(heading, [""])
                units = {index: f"{name} ({unit[1]})" for index, name in measured(names).items()}
                rows[heading] = [units.get(index, name) for index, name in enumerate(names)]
                rows[heading][0] = "shape"
                where.pop(heading, None)
            headings = []
    titles, counts = {title for title, _ in where.values()}, {threads for _, threads in where.values()}
    for number, (title, threads) in where.items():
        label, *cells = rows[number]
        named = [title] * (len(titles) > 1) + [label] + [f"threads={threads}"] * (len(counts) > 1)
        rows[number] = ["_".join(named), *cells]
    return {} if headings else rows
