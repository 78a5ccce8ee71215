"""Tables of timings, in CSV or JSON: a line for each timing, or a column for each configuration."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import shlex
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from abtune.errors import AbtuneError, DatasetError, InputError
from abtune.ingest.boosts import about_boosts, check_boost, rounding_of
from abtune.ingest.joined_columns import join_columns, with_labels, with_runs
from abtune.ingest.sources import baseline_first
from abtune.ingest.table_columns import (
    FIELDS,
    OUTCOME,
    RUNS,
    about_summaries,
    have_units,
    is_prose,
    is_summary,
    lacks_names,
    time_columns,
)
from abtune.ingest.tables import CUT, has_records, table_rows
from abtune.ingest.timings.conditions import MOST_KINDS, splitting_words
from abtune.ingest.timings.file_cells import PAIR, FileCell, FileContent
from abtune.ingest.timings.timing_heading import (
    EACH_LINE,
    LEAVE_EMPTY,
    CellTimings,
    Key,
    Table,
    Target,
    index_of,
    read_columns,
)
from abtune.ingest.units import (
    FAILED,
    LONGEST_CELL,
    MISSING,
    PER_SECOND,
    RATES,
    UNITS,
    WORK,
    about_work,
    read_heading,
    to_seconds,
    unit_named,
    work_of,
)
from abtune.text import count, shortened, to_number

# A column of errors may hold error bars, which say nothing of the outcome.
_ERROR = re.compile(r"(.{1,80}\.)?(errors?|exceptions?)", re.IGNORECASE)
_ERROR_BAR = re.compile(r"[-+]?\d*\.\d*(e[-+]?\d+)?|[-+]?\d+e[-+]?\d+|nan|inf|0|none", re.IGNORECASE)
# A column of outcomes says by such a word that a run failed, and a time beside that is none.
_FAILURE = re.compile(
    r"(?!\[|.*(no|not|without|(?<!\d)0)[\W_]?(fail|error))"  # a list is of some of many requests
    r".*(fail|error|exceed|invalid|incorrect|timed?[ _-]?out|crash|pruned)",
    re.IGNORECASE,
)
# So does a cell of another column that is such a word; inf and oom may be a number or a setting there.
_FAILED_RUN = FAILED - {"inf", "oom"}
# A time for each of these is that of one call, as cargo and Go write it: ns/iter, ns/op; or Latency (ms).
_OF_A_CALL = re.compile(r"/(iter|op)$|^(latency|time) ?\(|\)$", re.IGNORECASE)
# Units of rates: ops/sec, tokens per second, GFLOPS, fps.
_OF_A_RATE = re.compile(r".*(/ ?[mun]?s(ec(ond)?)?|per[ _]sec(ond)?|flops?|[fiqrt]ps|hz)", re.IGNORECASE)
# What a column cpu holds that names no processor.
_LOAD = re.compile(r"\d*\.\d+")
NO_TIMINGS = "has a heading and no timings"


def read_table(text: str, names: Mapping[str, str], unit: str, counted: str = "repeat") -> FileContent:
    """Return the timings of a table; each is ``counted`` as a repeat, a seed, a pair or a trial of a search.

    A pair is what has one seed number, or one line in a table with a column for each configuration.
    """
    is_search = counted == "trial"  # whose trials differ in sizes, too
    rows = _rows(text) if is_search and "shape" not in names else _labelled(text, names)
    _, heading = next(rows, (0, []))
    if not heading:
        raise DatasetError(NO_TIMINGS)
    table = read_columns(heading, names, unit)
    table.of_records = has_records(text)
    if not table.configs:  # else it would not say which of a line's times failed
        table.outcomes = [index for index, remedy in table.fixed.items() if remedy == LEAVE_EMPTY]
    if is_search:
        table.fixed = {index: remedy for index, remedy in table.fixed.items() if index not in table.of_shape}
    if counted == PAIR:
        table.of_pairs = "seed" not in table.columns
        counted = "seed" if table.of_pairs else "repeat"
        if table.of_pairs and not table.configs:
            raise InputError("pairs take a column seed, or a column for each configuration")
    if told := [name for name in ("seed", "round") if counted == "seed" and name in table.columns]:
        raise InputError(f"has a column {told[0]}; leave out --seed-is")
    table.counted = counted
    reading = read_rows(rows, table)
    if not reading.cells:
        raise DatasetError(next(about_summaries(table.summaries), NO_TIMINGS))
    each_a_process = False if table.columns.keys() & {"seed", "round"} else None
    cut = [CUT] * (text[-1] not in "\n]}")
    notes = (*reading.notes, *about_untimed(table.configs.values(), reading.cells), *cut)
    is_named = "time" in names
    return replace(reading, each_a_process=each_a_process, notes=notes, time_is_named=is_named)


def about_untimed(configs: Iterable[str], cells: Iterable[FileCell]) -> Iterator[str]:
    """Yield which configurations have no cell."""
    timed = {cell.config for cell in cells}
    if empty := [shortened(name) for name in configs if name not in timed]:
        yield f"configurations without any time: {', '.join(empty)}"


def read_rows(rows: Iterable[tuple[int, list[str]]], table: Table) -> FileContent:
    """Return the timings of the rows below the heading of a table."""
    _read_rows(rows, table)
    return FileContent(
        cells=tuple(_file_cell(key, cell, table) for key, cell in table.cells.items()),
        notes=tuple(_notes(table)),
        work=about_work(table.works) if table.works else "",
        kind="".join({about_work({unit}) for unit in table.units.values() if unit in RATES}),
        unused=tuple(table.names[index] for index in table.unused),
        no_repeats=_why_no_repeats(table) if table.counted == "repeat" else "",
    )


def _file_cell(key: Key, cell: CellTimings, table: Table) -> FileCell:
    """Return a cell with what the columns that are left out say of all its times."""
    settings, others, rates = dict[str, str](), dict[str, str](), dict[str, set[float]]()
    for index, value in zip(table.unused, cell.beside, strict=True):
        name, is_machine = table.names[index], index in table.machines
        is_told = not _LOAD.fullmatch(value) if is_machine else len(cell.others.get(index, ())) < 2
        if is_told and not is_machine and index not in table.settings:
            others[name] = value
        elif is_told and value:
            settings[name] = value
        for text in (value, *cell.others.get(index, ())) if index in table.rates else ():
            with contextlib.suppress(ValueError):
                rates.setdefault(name, set()).add(to_number(text))
    shape, config, seed = key
    return FileCell(
        where=f"line {cell.line}",
        shape=shape,
        config=config,
        seed=seed,
        rounds=tuple(map(tuple, cell.rounds.values())),
        labels=tuple(filter(None, cell.rounds)),
        failures=tuple(cell.failures),
        settings=settings,
        others=others,
        throughputs=rates,
    )


def _why_no_repeats(table: Table) -> str:
    """Return which column, such as a device or a batch size, splits the times of most cells alike, if any.

    Most cells of one configuration are enough: it may stand for two variants.
    """
    several = {key: cell for key, cell in table.cells.items() if sum(map(len, cell.rounds.values())) > 1}
    of_configs: dict[str | None, dict[Key, CellTimings]] = {}
    for key, cell in several.items():
        of_configs.setdefault(key[1], {})[key] = cell
    # Two or three runs of one configuration may be alike by chance.
    of_many = [cells for cells in of_configs.values() if len(cells) > 3]
    for column in sorted(table.differ):
        name = table.names[column]
        splits_all = splitting_words(name, _counts(several, column))
        splits_one = (splitting_words(name, _counts(cells, column)) for cells in of_many)
        if not (words := splits_all or next(filter(None, splits_one), ())):
            continue
        own = [table.names[table.columns["shape"]]] if "shape" in table.columns else []
        joined = shlex.quote("shape=" + "+".join([*own, name]))
        ways = f"keep one of them, or join columns: --columns {joined}"
        if "seed" not in table.columns and all(map(str.isdecimal, words)):
            ways += f"; if each is a run: --columns {shlex.quote(f'seed={name}')}"
        if not splits_all:
            ways += f"; if these are configurations: --columns {shlex.quote(f'config={name}')}"
        if "round" not in table.columns:
            ways += f"; if these are repeats: --columns {shlex.quote(f'round={name}')}"
        both = " and ".join(shortened(repr(word)) for word in words[:2])
        return f"column {name} says {both} of one run; {ways}"
    return ""


def _counts(cells: Mapping[Key, CellTimings], column: int) -> list[tuple[str | None, Mapping[str, int]]]:
    """Return the shape of each cell, and how many of its times stand beside which value of a column."""
    cells_of = Counter(shape for shape, _, _ in cells)
    # Cells that are alone in their shape are alike if shapes are.
    return [
        (shape if cells_of[shape] > 1 else None, cell.others.get(column, {}))
        for (shape, _, _), cell in cells.items()
    ]


def _read_rows(rows: Iterable[tuple[int, list[str]]], table: Table) -> None:
    """Read all lines into the table; an error names the line, and the record of JSON."""
    # A line sums up others if it says so as its shape, or in place of a number.
    summing = [table.columns[name] for name in ("shape", "seed", "round", "repeat") if name in table.columns]
    known: set[str] = set()  # labels that sum up nothing
    for number, (line, row) in enumerate(rows, start=1):
        labels = [row[index] for index in summing if index < len(row)]
        if not known.issuperset(labels):
            if summary := next(filter(is_summary, labels), ""):
                table.summaries[line] = summary
                continue
            if (
                labels[0].endswith("_stddev") and labels[0].removesuffix("_stddev") in known
            ):  # Google Benchmark
                remedy = "take all such lines out: grep -vE '_(mean|median|stddev|cv)\\b' FILE"
                raise DatasetError(f"line {line}: {shortened(labels[0])} sums up lines above it; {remedy}")
            known.update(labels)
        try:  # which costs less than naming(), a million times
            _read_row(row, table, line)
        except DatasetError as error:
            record = f"record {number}, " * table.of_records
            raise DatasetError(f"{record}line {line}: {error}") from None


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    return with_runs(table_rows(text))


def _labelled(text: str, names: Mapping[str, str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows, with several columns as one where they are the label of a shape."""
    _, heading = next(_rows(text), (0, []))
    rows = iter(with_labels(_rows(text), least=1, by_name=has_records(text)))
    number, own = next(rows)
    several = names.get("shape", "").split("+")
    if len(several) > 1 and names["shape"] not in heading:
        # Messages call sizes that are the label by themselves shape.
        sized = {} if "shape" in heading else {"shape": [name for name in heading if name not in own]}
        columns = itertools.chain.from_iterable(sized.get(name) or [name] for name in several)
        return join_columns(_rows(text), [index_of(name, heading) for name in columns], names["shape"])
    told = {name.casefold() for name in names.values()}
    is_one_told = not told.isdisjoint(map(str.casefold, set(heading) - set(own)))
    return _rows(text) if "shape" in names or is_one_told else itertools.chain([(number, own)], rows)


def _notes(table: Table) -> Iterator[str]:
    """Yield what the user should know about columns that are left out and lines without a time."""
    unused = {
        index: shortened(table.names[index] or f"number {index + 1}, which has no name")
        for index in (table.unused if table.counted != "trial" else ())  # parameters of what was tried
    }
    runs = [name for name in unused.values() if re.sub(r"\W", "", name).casefold() in RUNS]
    # Beside configurations, a column may compare the times of its line.
    may = set[int]() if table.configs else {*unused} - {*table.outcomes} - table.failed
    changing = [unused[index] for index in sorted(table.differ & may)]
    differ = [name for name in changing if name not in runs]
    alike = ""
    if differ:
        alike = f"; lines of one shape and configuration differ in {', '.join(differ)}"
        alike += "; if that matters, write it into the shape or the configuration"
    if unused:
        yield f"columns left out: {', '.join(unused.values())}{alike}"
    if "seed" not in table.columns and runs and table.counted == "repeat":
        as_seed = shlex.quote(f"seed={runs[0]}")
        yield f"if {runs[0]} tells separate runs apart, each is a seed: --columns {as_seed}"
    if "seed" in table.columns:  # so that iterations count calls, and no runs
        for name in (name for name in changing if name in runs and name.endswith("s")):
            yield f"{name} differ between lines; where a time is the sum of its {name}, divide it by them"
    yield from about_summaries(table.summaries)
    if again := len(table.lines) - len(set(table.lines)):
        lines = f"{count(again, 'line')} {'is' if again == 1 else 'are'}"
        yield f"{lines} the same as one above; each counts as a {table.counted}"
    if table.untimed and table.counted != "trial":
        what, then = ("line", "counts as failed")
        if table.configs:
            what, then = "cell", "is missing, or failed if its cell says so; shapes without runs are left out"
        failed = " or of a failed run" * bool(table.outcomes or table.failed)
        cells = f"{count(len(table.untimed), what)} without a time{failed}"
        yield f"{cells}, the first in line {table.untimed[0]}; a run without any time {then}"
    yield from about_boosts(
        {table.names[index]: over for index, over in table.boosts.items()}, [*table.configs.values()]
    )


def has_times(text: str) -> bool:
    """Return whether a text begins with the heading of a table of timings; a time in JSON needs a unit."""
    with contextlib.suppress(DatasetError):
        rows = _rows(text)
        _, heading = next(rows, (0, []))
        if has_records(text):
            times = [read_heading(heading[index], UNITS).unit for index in time_columns(heading)]
            return any(times) or any(_has_numbers(text, unit) for unit in ("", "ms")[: 1 if times else 2])
        if lacks_names(heading) or (is_prose(heading) and len(next(rows, (0, []))[1]) != len(heading)):
            return False
        if len(heading) > 1 or (not {*heading} & {*FIELDS} and have_units(heading, tuple(PER_SECOND))):
            return bool(time_columns(heading)) or any(_has_numbers(text, unit) for unit in ("", "ms"))
    return False


def _has_numbers(text: str, unit: str) -> bool:
    """Return whether a text begins with the heading of a table, and a line with a number."""
    try:
        labelled = with_labels(_rows(text), least=1, by_name=has_records(text))
        (_, heading), (_, row) = itertools.islice(labelled, 2)
        values = [row[index] for index in read_columns(heading, {}, unit).units]
        firsts = (value.strip("[]").split(",")[0] if value[:1] == "[" else value for value in values)
        # Decimal commas, and marks of thousands, are refused where they are read.
        plain = (re.sub(r"[.,](?=.*[.,])", "", value).replace(",", ".") for value in firsts)
        cells = [value for value in plain if value.casefold() not in MISSING]
        return len(list(map(to_number, cells))) > 0
    except (ValueError, IndexError, AbtuneError):
        return False


def _read_row(row: Sequence[str], table: Table, line: int) -> None:
    if len(row) != len(table.names):
        remedy = "complete the line or take it out; a comma within a cell needs quotes, and a bar a backslash"
        raise DatasetError(f"{len(row)} cells under a heading of {len(table.names)}; {remedy}")
    if row[0] == table.names[0] and not any(row[index][:1].isdigit() for index in table.units):
        raise DatasetError("is the heading again; take it out, or give each table a file of its own")
    if units := [unit for index in table.units if (unit := unit_named(row[index]))]:  # as nvprof writes
        raise DatasetError(f"holds units and no values; take the line out, and give --unit {units[0]}")
    timed = [index for index in table.units if row[index].casefold() not in MISSING]
    if failure := _failure_of(row, table):
        timed = []
    if timed:
        table.lines.append(hash(tuple(row)))
    table.untimed += [line] * (len(table.units) - len(timed))
    told = [row[index] for index in table.telling]
    seconds: dict[int, Sequence[float]] = {}
    for index in table.units:
        if table.configs and index not in timed and row[index].casefold() not in FAILED:
            continue
        key = (index, bool(timed), *told)
        target = table.targets.get(key)
        if target is None:
            target = table.targets[key] = _read_target(row, index, table, line, is_timed=bool(timed))
        if index in timed:
            seconds[index] = _add_time(row, index, target, table, line)
        elif table.counted != "repeat":  # kept as NaN
            target.cell.rounds.setdefault("", []).append(math.nan)
            target.cell.failures.append((failure or row[index]).casefold())
    _check_line(row, table, seconds)


def _failure_of(row: Sequence[str], table: Table) -> str:
    """Return the cell that says that the run of a line failed; empty if none does."""
    told = (index for index in table.outcomes if _FAILURE.match(row[index]))
    words = (index for index in table.unused if not table.configs and row[index].casefold() in _FAILED_RUN)
    for index in itertools.chain(told, words):
        table.failed.add(index)
        return row[index]
    return ""


def _check_line(row: Sequence[str], table: Table, seconds: Mapping[int, Sequence[float]]) -> None:
    """Check that a line has all times of a pair, and that a column of boosts agrees with its times."""
    if table.of_pairs:  # else the next line would complete the pair
        numbers = [len(seconds.get(i, [""] * (row[i].casefold() in FAILED))) for i in table.units]
        if len(set(numbers)) > 1:
            fewest = table.configs[[*table.units][numbers.index(min(numbers))]]
            raise DatasetError(
                f"lacks a time of {fewest}; take the line out, or write FAILED if the run failed"
            )
    if table.boosts and sum(map(len, seconds.values())) == len(table.units):  # all are there, and no list
        columns = {name: index for index, name in table.configs.items()}
        in_order = [columns[name] for name in baseline_first(columns)]
        known = [(seconds[index][0], rounding_of(row[index])) for index in in_order]
        for index, over in table.boosts.items():
            check_boost(row[index], known, over)


def _read_target(row: Sequence[str], index: int, table: Table, line: int, *, is_timed: bool) -> Target:
    """Return where the time in a column belongs, by the other columns; without a time it needs no unit."""
    values = {name: row[column] for name, column in table.columns.items() if name not in EACH_LINE}
    for name, value in values.items():
        column = f"column {table.names[table.columns[name]]}"
        if not value and (is_timed or name != "unit"):
            raise DatasetError(f"{column} is empty; fill it, or take the line out")
        if len(value) > LONGEST_CELL:
            raise DatasetError(f"{column} has {len(value):,} characters, and the most is {LONGEST_CELL:,}")
    seed = _number_label(values["seed"]) if "seed" in values else None
    if seed is not None and not re.fullmatch(r"\d{1,18}", seed, flags=re.ASCII):
        remedy = "number the runs of a cell 0, 1, 2 and so on"
        raise DatasetError(f"seed {shortened(seed)!r} is not a whole number of up to 18 digits; {remedy}")
    for fixed, remedy in table.fixed.items() if is_timed else ():
        of_shape = values.get("shape", "") if fixed in table.of_shape else ""
        above, earlier = table.held.setdefault((fixed, of_shape), (row[fixed], line))
        name = table.names[fixed]
        if _outcome(row[fixed], name) != _outcome(above, name):
            says = f"column {name} says {shortened(row[fixed])!r}"
            raise DatasetError(f"{says}, but {shortened(above)!r} in line {earlier}; {remedy}")
    unit = table.units[index] or unit_named(_OF_A_CALL.sub("", values["unit"]))
    if is_timed and not table.units[index] and unit not in PER_SECOND:
        remedy = "keep the lines that hold times, or take the column out and give --unit"
        if _OF_A_RATE.fullmatch(values["unit"]):  # --unit s would turn a gain into a loss
            remedy = (
                "keep the lines that hold times, or write 1 / rate as time (s), without the column of units"
            )
        raise DatasetError(f"unit {shortened(values['unit'])!r} is none of {', '.join(PER_SECOND)}; {remedy}")
    config = table.configs.get(index, values.get("config"))
    key = values.get("shape"), config, None if seed is None else int(seed)
    others = [row[column] for column in table.unused]
    cell = table.cells.setdefault(key, CellTimings(line=line, beside=others))
    where = f"column {table.names[index]}"
    beside = table.beside.setdefault(key[:2], others)
    number = _number_label(values.get("round", ""))
    work = work_of(unit, values.get("shape", ""))
    if is_timed and unit in RATES and work == WORK:
        table.works.add(unit)
    return Target(cell=cell, beside=beside, round=number, unit=unit, work=work, where=where)


def _outcome(text: str, name: str) -> str:
    """Return what a cell of a column says: of outcomes in lower case, and of other columns as it is."""
    if _ERROR.fullmatch(name) and _ERROR_BAR.fullmatch(text):
        return ""
    return text.casefold() if OUTCOME.fullmatch(name) else text  # MB is not Mb


def _add_time(row: Sequence[str], index: int, target: Target, table: Table, line: int) -> Sequence[float]:
    """Add the time in a column, or its list of times, and return them in seconds."""
    cell, text, where = target.cell, row[index], target.where
    if text[:1] == "[":  # a list of repeats, as JSON and pandas write it
        listed = text.strip("[]").split(",")
        if "]" in text[:-1].rstrip("]"):
            raise DatasetError(f"{where}: a list of lists; write a line for each list")
        seconds = [to_seconds(time.strip(), target.unit, where, work=target.work) for time in listed]
        seconds = [statistics.fmean(seconds)] if table.counted == "trial" else seconds
    else:
        remedy = "if that run failed, leave the cell empty"
        remedy += "; a column of boosts is called boost (%)" * bool(table.configs)
        seconds = [to_seconds(text, target.unit, where, remedy, target.work)]
    if "repeat" in table.columns:
        repeat = row[table.columns["repeat"]]
        first = cell.numbered.setdefault((target.round, repeat), line)
        if first != line or not repeat:
            same = f"the same cell, round and repeat as in line {first}; keep one, or join columns"
            raise DatasetError(same if repeat else f"column {table.names[table.columns['repeat']]} is empty")
    cell.rounds.setdefault(target.round, []).extend(seconds)
    for column, above, own in zip(table.unused, target.beside, cell.beside, strict=True):
        if column in table.differ or row[column] != above:
            table.differ.add(column)
            if column not in cell.others:
                before = sum(map(len, cell.rounds.values())) - len(seconds)
                cell.others[column] = Counter({own: before})
            if len(others := cell.others[column]) < MOST_KINDS:
                others[row[column]] += len(seconds)
    return seconds


def _number_label(text: str) -> str:
    """Return the label of a round or seed, the same for 1, 01 and 1.0."""
    match = re.fullmatch(r"(-?\d{1,18})(\.0*)?", text, flags=re.ASCII)
    return str(int(match[1])) if match else text
