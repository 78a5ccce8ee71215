"""How far a sweep is, read from its files while it runs; nothing is written and no lock is taken."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from abtune.dataset.schema import RunStatus
from abtune.errors import StoreError
from abtune.measure.plan.records import Rounds, RunRecord, waiting_winners, with_transfers
from abtune.measure.store.store import Planned, Store

# The log latencies of winners as their searches timed them, by shape and configuration.
LogLatencies = Mapping[tuple[str, str], Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeState:
    """The runs of one shape so far."""

    shape: str
    finished: tuple[int, ...]  # runs that are over, by configuration
    failed: int  # runs that failed, also when their winner was measured again
    best: tuple[float, ...]  # fastest winner, seconds, by configuration; NaN without one
    boost: float  # of the mean winners, a fraction; NaN without two of each configuration
    waits: bool  # whether a winner, or its transfer, was not measured again yet


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepState:
    """A sweep so far."""

    configs: tuple[str, ...]  # baseline first
    planned: int  # number of runs
    finished: int  # runs that are over, failed ones included
    failed: int
    searching: int  # runs that have begun and are not over
    measured: int  # shapes whose winners were all measured again
    changed: float  # when a file was last written, seconds since 1970
    seconds_left: float  # for the searches, at the speed so far; NaN if unknown
    boost: float  # mean over shapes with two winners of each configuration, a fraction; NaN without one
    compared: int  # the number of these shapes
    is_judged: bool  # whether no look at the data is due
    shapes: tuple[ShapeState, ...]

    @property
    def is_done(self) -> bool:
        """Whether all runs that are planned are over, their winners measured again and looked at."""
        waits = any(shape.waits for shape in self.shapes)
        return self.finished == self.planned and not waits and self.is_judged


def read_state(store: Store) -> SweepState:
    """Return how far a sweep is; StoreError if there is none, or a file is damaged."""
    if not store.description.exists():
        done = f"; abtune analyze {store.dataset} reads what it has" if store.dataset.exists() else ""
        raise StoreError(f"no sweep is at work on {store.dataset}: there is no {store.description}{done}")
    content, records = store.about(), store.records()
    plan: Planned = content["planned"]
    configs = tuple(config["name"] for config in content["identity"]["configs"])
    by_shape: dict[str, list[RunRecord]] = defaultdict(list, {shape: [] for shape in plan.shapes})
    for record in records:
        by_shape[record.shape].append(record)
    winners = log_latencies(records)
    boost, compared = mean_boost(winners, by_shape, configs)
    searches, rounds = store.trials_in_progress(), store.rounds()
    transfer = with_transfers(rounds.values(), planned=plan.transfer)
    waiting = waiting_winners(records, rounds.values(), transfer=transfer)
    shapes = tuple(
        _shape_state(shape, by_shape[shape], winners, configs, rounds.get(shape), waits=shape in waiting)
        for shape in by_shape
    )
    # A look of a sequential design plans the shapes that go on; the runs of the others are over.
    labels, seeds = {*plan.shapes}, {*plan.seeds}
    others = [one for one in records if one.shape not in labels or one.seed not in seeds]
    planned = len(labels) * len(configs) * len(seeds) + len(others)
    changed = max(map(_changed, store.folder.rglob("*")))
    return SweepState(
        configs=configs,
        planned=planned,
        finished=len(records),
        failed=sum(shape.failed for shape in shapes),
        searching=len(searches),
        measured=sum(shape.shape in rounds and not shape.waits for shape in shapes),
        changed=changed,
        seconds_left=_seconds_left(store, changed, planned, records, searches),
        boost=boost,
        compared=compared,
        is_judged=content["is_judged"],
        shapes=shapes,
    )


def _shape_state(
    shape: str,
    records: Sequence[RunRecord],
    winners: LogLatencies,
    configs: Sequence[str],
    rounds: Rounds | None,
    *,
    waits: bool,
) -> ShapeState:
    won = {(record.config, record.seed) for record in records if record.status is RunStatus.COMPLETE}
    lost = {(winner.config, winner.seed) for winner in (rounds.winners if rounds else ()) if winner.failure}
    best = (min(winners.get((shape, config), ()), default=math.nan) for config in configs)
    return ShapeState(
        shape=shape,
        finished=tuple(sum(record.config == config for record in records) for config in configs),
        failed=len(records) - len(won - lost),
        best=tuple(map(math.exp, best)),
        boost=math.expm1(log_boost(winners, shape, configs)),
        waits=waits,
    )


def log_latencies(records: Iterable[RunRecord]) -> dict[tuple[str, str], list[float]]:
    """Return the log latencies of winners as their searches timed them, by shape and configuration."""
    logs: dict[tuple[str, str], list[float]] = {}
    for record in records:
        if record.status is RunStatus.COMPLETE:
            logs.setdefault((record.shape, record.config), []).append(math.log(record.search_latency))
    return logs


def log_boost(winners: LogLatencies, shape: str, configs: Sequence[str]) -> float:
    """Return the difference of a shape's mean log latencies; NaN without two winners of each side."""
    sides = [winners.get((shape, config), ()) for config in (configs[0], configs[-1])]
    if min(map(len, sides)) < 2:
        return math.nan
    return statistics.mean(sides[0]) - statistics.mean(sides[1])


def mean_boost(winners: LogLatencies, shapes: Iterable[str], configs: Sequence[str]) -> tuple[float, int]:
    """Return the mean boost over the shapes that have one, a fraction, NaN for none; and their number."""
    boosts = [log_boost(winners, shape, configs) for shape in shapes]
    known = [boost for boost in boosts if not math.isnan(boost)]
    return math.expm1(statistics.mean(known)) if known else math.nan, len(known)


def _seconds_left(
    store: Store, changed: float, planned: int, records: Sequence[RunRecord], searches: Mapping[str, int]
) -> float:
    """Return the time for the trials that are left, at the speed since this session began."""
    content, began, folder = store.about(), _changed(store.description), store.folder / "runs"
    trials, tried_before = int(content["identity"]["settings"]["trials"]), int(content["tried_before"])
    in_progress, elapsed = sum(searches.values()), changed - began
    # Each session first writes the description, so older runs are of earlier sessions.
    finished = [record for record in records if _changed(folder / f"{record.key}.json") > began]
    done = in_progress - tried_before + sum(len(record.trial_status) for record in finished)
    if done <= 0 or elapsed <= 0:
        return math.nan
    # A run that failed, or whose space was exhausted, is over before its trials are spent.
    return max((planned - len(records)) * trials - in_progress, 0) / done * elapsed


def _changed(path: Path) -> float:
    """Return when a file was last written; a file that has just gone counts as old."""
    try:
        return path.stat().st_mtime
    except OSError:  # also where its folder has become a file
        return 0.0
