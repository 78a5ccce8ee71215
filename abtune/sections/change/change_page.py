"""The pages about what changed: between two datasets, and over a history of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby

from abtune.compare.sentence import of_dependent
from abtune.compare.settings import alpha_of
from abtune.dataset.schema import SeedDesign
from abtune.report.columns import OVERALL, decimals_of, drawn_boosts, interval_column
from abtune.report.page import SHAPE, Bullets, Cell, Grid, Heading, Part, Prose, Section, Tally, column, table
from abtune.report.scale import Interval, choose_scale
from abtune.sections.change.change_results import Change, ChangeVerdict, MeanChange, ShapeChange
from abtune.sections.change.history import History
from abtune.text import count, limits, listed, microseconds, p_value, percent_cell, plain_percent, some_of

# As they are shown; colours are those of similar verdicts of abtune analyze.
_TONES = (OVERALL, "equivalent", "inconclusive")
VERDICTS = {kind: Cell(text=kind.value, tone=tone) for kind, tone in zip(ChangeVerdict, _TONES, strict=True)}


_OTHER_DESIGN = (
    "One dataset has separate searches. In the other, both sides know the same schedules (equal knowledge). "
    "So a change shows what separate searches add: schedules that one side found, by luck or effort, and the "
    "other did not."
)


def change_section(change: Change, sources: tuple[str, str]) -> Section:
    """Return the report; ``sources`` say in words where the numbers of A and B come from."""
    rows = tuple(
        asdict(row) | {"quantity": change.quantity, "seeds": _seeds(row, change), "verdict": str(row.verdict)}
        for row in change.shapes
    )
    sentence, differing = _result(change), [row.what for row in change.mismatches if row.known]
    if differing:
        sentence += f" Not the same in both datasets: {listed(differing)}."
    return Section(name="", page=_page(change, sources), result=change, rows=rows, sentence=sentence)


def _page(change: Change, sources: tuple[str, str]) -> tuple[Part, ...]:
    lines = [
        f"{side}: {' '.join(filter(None, [name, source and f'({source})']))}."
        for side, name, source in zip("AB", change.datasets, sources, strict=True)
    ]
    ratio = "(1 + boost of B)/(1 + boost of A)" if change.quantity == "boost" else "latency of B/latency of A"
    alpha, tolerance = plain_percent(alpha_of(change.level)), plain_percent(change.tolerance)
    overall = (
        f" overall: geometric mean over {count(change.overall.shapes, 'shape')}; its interval comes from the "
        f"spread of the {'winners' if change.same_winners else 'seeds'}."
    )
    meaning = (
        f"change: {ratio} - 1. A and B: the {change.quantity} in each dataset. changed: the adjusted p is at "
        f"most {alpha} by a Welch t-test (from five shapes on, variances are shrunk towards a common one) "
        "and Holm over the shapes; the change may be small. unchanged: two one-sided tests, corrected in the "
        f"same way, exclude a change of {tolerance} or more. seeds: those of "
        f"{'each configuration' if change.same_winners else 'A, then of B'}."
        f"{overall if len(change.shapes) > 1 else ''}"
    )
    return (
        Heading(f"changes from {' to '.join(change.datasets)}"),
        Prose(_result(change)),
        Prose(f"{' '.join(lines)} {_compared(change)}", remark=True),
        Tally(cells=tuple(Cell(text=text) for text in change_counts(change)), words=tuple(ChangeVerdict)),
        _table(change),
        *([Prose(_OTHER_DESIGN)] if change.boosts and set(change.designs) > {SeedDesign.SHARED} else []),
        Prose(meaning, remark=True),
        Bullets(tuple(_notes(change))),
    )


def _compared(change: Change) -> str:
    first, second = (names[::-1] for names in (change.configs_a, change.configs_b))
    what = f"Compared: the {change.quantity} of {' against '.join(first)}"
    again = "Each winner in both datasets is compared with itself, so the noise of the searches cancels."
    compared = f"{what}{'' if first == second else f' with that of {second[0]}'}."
    return f"{compared} {again}" if change.same_winners else compared


def _table(change: Change) -> Grid:
    rows = change.shapes
    # A lone shape has no row of a mean below it.
    several = len(rows) > 1
    lines: list[ShapeChange | MeanChange] = [*rows, *[change.overall] * several]
    blank = [""] * several
    bounds = [(row.low, row.high) for row in lines]
    decimals = decimals_of(bounds)
    unit = "%" if change.quantity == "boost" else "us"

    def value(number: float) -> str:
        return microseconds(number) if unit == "us" else percent_cell(number, decimals)

    # The mean of latencies of different shapes says nothing.
    means = [[value(mean.change)] * several for mean in change.boosts] or [blank, blank]
    return table(
        SHAPE,
        [*(row.shape for row in rows), *[OVERALL] * several],
        column("verdict", [*(VERDICTS[row.verdict] for row in rows), *blank], kind="word"),
        column("change %", [percent_cell(row.change, decimals) for row in lines]),
        interval_column(bounds, level=change.level, decimals=decimals),
        column(f"A {unit}", [*(value(row.a) for row in rows), *means[0]], gives_way=3),
        column(f"B {unit}", [*(value(row.b) for row in rows), *means[1]], gives_way=2),
        column("adj. p", [*(p_value(row.p_adjusted) for row in rows), *blank], gives_way=4),
        column("seeds", [*(_seeds(row, change) for row in rows), *blank], gives_way=5),
    )


def _seeds(row: ShapeChange, change: Change) -> str:
    """Return the numbers of seeds of all samples; those of A and B are the same if the winners are."""
    return "+".join(map(str, row.seeds[: len(change.configs_a)] if change.same_winners else row.seeds))


def change_counts(change: Change) -> list[str]:
    """Return the number of shapes with each verdict, in words."""
    numbers = Counter(row.verdict for row in change.shapes)
    changed, *others = (f"{numbers[kind]} {kind.value}" for kind in ChangeVerdict)
    changes = [row for row in change.shapes if row.verdict is ChangeVerdict.CHANGED]
    if small := sum(row.p_unchanged <= alpha_of(change.level) for row in changes):
        changed += f" ({small} by less than {plain_percent(change.tolerance)})"
    return [changed, *others]


def mean_words(mean: MeanChange | ShapeChange, level: float) -> str:
    """Return a mean change with its interval of this level, in percent."""
    interval = f"{plain_percent(level)} interval {limits(mean.low, mean.high, 1)}"
    return f"{percent_cell(mean.change, 1)}% ({interval})"


def _notes(change: Change) -> Iterator[str]:
    for side, labels in (("A", change.only_a), ("B", change.only_b)):
        if labels:
            yield f"{count(len(labels), 'shape')} only in {side}, not compared: {some_of(labels, most=1)}."
    yield from change.caveats
    if known := [row.words for row in change.mismatches if row.known]:
        differ = f"Not the same in A and B: {'; '.join(known)}."
        yield f"{differ} A change may come from this, or from something else."
    else:
        yield "No recorded condition differs. A change would have another cause, such as the day or the host."
    if unknown := [row.what for row in change.mismatches if not row.known]:
        yield f"Recorded in one dataset only, so it may differ: {listed(unknown)}."


def _result(change: Change) -> str:
    itself = ", each winner compared with itself" if change.same_winners else ""
    what = "mean change" if len(change.shapes) > 1 else "change"
    said = (
        f"{change.quantity.capitalize()} of {count(len(change.shapes), 'common shape')}{itself}: "
        f"{listed(change_counts(change))}; {what} {mean_words(change.mean, change.level)}."
    )
    return " ".join([said, *of_dependent(change.caveats)])


def history_section(history: History) -> Section:
    """Return the report: one table, with the boosts of each shape beside each other."""
    rows = tuple(map(asdict, history.moments))
    return Section(
        name="",
        page=tuple(_history_page(history)),
        result=history,
        rows=rows,
        sentence=_history_sentence(history),
    )


# More would push the table off the screen.
_MOST_ORIGINS = 6
# With more datasets, a table of its own shows the trend of the mean, and that of shapes has no intervals.
_MOST_IN_A_ROW = 3
_MOST_COLUMNS = 9  # datasets beside the first


def _history_page(history: History) -> Iterator[Part]:
    yield Heading(f"history of {history.candidate} against {history.baseline}")
    yield Prose(_history_sentence(history))
    origins = list(_origins(history))
    if len(origins) > _MOST_ORIGINS:
        origins[_MOST_ORIGINS:] = [f"{count(len(origins) - _MOST_ORIGINS, 'more origin')}."]
    if origins:
        yield Prose(" ".join(origins), remark=True)
    yield _history_table(history)
    meaning = (
        "Boosts are in percent. change %, verdict: from the first dataset to the last, as in abtune compare; "
        f"tolerance {plain_percent(history.tolerance)}. overall: geometric mean over these shapes."
    )
    if len(history.datasets) > _MOST_IN_A_ROW:
        yield _mean_table(history)
        meaning += " CSV and JSON have every dataset of each shape, with intervals."
    yield Prose(meaning, remark=True)
    alpha = plain_percent(alpha_of(history.level))
    changed = (
        f"Changed since the previous dataset. Shapes: the adjusted p is at most {alpha} (Holm over shapes "
        f"and steps). overall: the interval of its change excludes zero ({alpha}, Bonferroni over steps)."
    )
    some = any(row.changed for row in history.moments)
    yield Bullets(history.caveats, footnotes=(changed,) if some else ())


def _origins(history: History) -> Iterator[str]:
    """Yield where the datasets come from; those of one origin share a sentence."""
    numbers: dict[str, list[int]] = {}
    for number, source in enumerate(history.sources):
        numbers.setdefault(source, []).append(number)
    for source, own in numbers.items():
        names: list[str] = []
        for _, group in groupby(enumerate(own), lambda pair: pair[1] - pair[0]):  # datasets in a row
            row = [history.datasets[number] for _, number in group]
            names += [f"{row[0]} to {row[-1]}"] if len(row) > 2 else row
        dates = sorted({history.dates[number][:10] for number in own} - {""})
        facts = ", ".join(filter(None, [source, " to ".join(dict.fromkeys([*dates[:1], *dates[-1:]]))]))
        if facts:
            yield f"{some_of(names)} ({facts})."


def _history_table(history: History) -> Part:
    many, moments, change = len(history.datasets), history.moments, history.first_to_last
    ends: list[MeanChange | ShapeChange] = [change.overall, *change.shapes]
    decimals = decimals_of((row.boost_low, row.boost_high) for row in moments)
    bounds = [(row.low, row.high) for row in ends]
    columns = [
        column("verdict", ["", *(VERDICTS[row.verdict] for row in change.shapes)], kind="word"),
        column("change %", [percent_cell(row.change, decimals) for row in ends]),
        interval_column(bounds, level=history.level, decimals=decimals),
    ]
    # Beside the first, those in which a shape changed come before others, and late ones before earlier ones.
    weights = [(any(row.changed for row in moments[many + i :: many]), i) for i in range(1, many)]
    for number in (0, *sorted(i for _, i in sorted(weights)[-_MOST_COLUMNS:])):
        rows, age = moments[number::many], many - number
        texts = [percent_cell(row.boost, decimals) for row in rows]
        boosts = [
            Cell(text=text, tone=row.verdict or OVERALL, notes=(1,) * row.changed)
            for row, text in zip(rows, texts, strict=True)
        ]
        # The first and the last stay. Of the others the oldest go first, after the intervals of all.
        between = 0 < number < many - 1
        columns.append(column(history.datasets[number], boosts, gives_way=age if between else 0))
        if many <= _MOST_IN_A_ROW:
            bounds, gives_way = [(row.boost_low, row.boost_high) for row in rows], many + age
            columns.append(
                interval_column(bounds, level=history.level, decimals=decimals, gives_way=gives_way)
            )
    return table(SHAPE, [row.shape for row in moments[::many]], *columns)


def _mean_table(history: History) -> Grid:
    """Return the mean boost of each dataset, a row for each, so that a trend shows."""
    means = history.moments[: len(history.datasets)]
    drawn = [Interval(low=row.boost_low, value=row.boost, high=row.boost_high, tone=OVERALL) for row in means]
    decimals = decimals_of((row.boost_low, row.boost_high) for row in means)
    scale = choose_scale(drawn, margin=history.tolerance)
    changes = [Cell(text=percent_cell(row.change, decimals), notes=(1,) * row.changed) for row in means]
    return table(
        "mean boost",
        history.datasets,
        column("date", [row.date[:10] for row in means], gives_way=4),
        *drawn_boosts(drawn, scale, level=history.level, decimals=decimals),
        column("change %", changes, gives_way=3),
    )


def _history_sentence(history: History) -> str:
    many, ends = len(history.datasets), history.first_to_last
    overall, shapes = history.moments[:many], history.moments[many:]
    first, *_, last = (f"{percent_cell(row.boost, 1)}%" for row in overall)
    of_shapes, of_mean = (sum(row.changed for row in rows) for rows in (shapes, overall))
    steps = f"Significant changes from one dataset to the next: {of_shapes} of shapes, {of_mean} of the mean."
    if not of_shapes + of_mean:
        steps = "No change from one dataset to the next is significant."
    said = (
        f"Mean boost of {history.candidate} over {count(len(ends.shapes), 'common shape')}: {first} in the "
        f"first and {last} in the last of {many} datasets, a change of "
        f"{mean_words(ends.overall, ends.level)}. Shapes: {listed(change_counts(ends))}. {steps}"
    )
    return " ".join([said, *of_dependent(history.caveats)])
