"""The history of a search: its winner, its end, and how it grows."""

from __future__ import annotations

import math

import pytest
from measure_builders import make_history, make_settings, make_trial

from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.records import MAX_EMPTY_ITERATIONS, Candidate, SearchHistory

NAN = math.nan


def test_the_winner_is_the_fastest_that_was_timed() -> None:
    """Failed trials cannot win, and the first of equal trials wins."""
    history = make_history(3.0, NAN, 1.0, 2.0, 1.0)
    assert history.winner is history.trials[2]


@pytest.mark.parametrize("latencies", [(), (NAN, NAN)])
def test_without_a_timing_there_is_no_winner(latencies: tuple[float, ...]) -> None:
    """A history in which nothing was timed has no winner."""
    assert make_history(*latencies).winner is None


def test_a_search_is_over_when_its_budget_is_spent() -> None:
    """Failed trials count against the budget, and the last trial ends the search."""
    history = make_history(1.0, NAN)
    steps = {trials: history.next_step(make_settings(trials=trials)) for trials in (3, 2, 1)}
    assert steps == {3: "propose", 2: None, 1: None}


def test_a_search_is_over_when_nothing_new_comes() -> None:
    """Five empty iterations in a row end a search; an iteration with trials resets the count."""
    settings = make_settings(trials=100)
    history = make_history(1.0)
    for _ in range(MAX_EMPTY_ITERATIONS - 1):
        history = history.proposed((), cost_model=b"", seconds=0.0).tried((), seconds=0.0)
    assert history.next_step(settings) == "propose"
    over = history.proposed((), cost_model=b"", seconds=0.0).tried((), seconds=0.0)
    assert over.next_step(settings) is None
    resumed = history.proposed((), cost_model=b"", seconds=0.0).tried((make_trial(),), seconds=0.0)
    assert resumed.empty_iterations == 0
    longer = resumed.proposed((), cost_model=b"", seconds=0.0).tried((), seconds=0.0)
    assert longer.next_step(settings) == "propose"


def share(trials: int, per_iteration: int, exchanged: int, *, available: int = 99) -> list[tuple[str, int]]:
    """Return the steps of a search that shares, and their numbers of candidates, at most `available`."""
    settings = make_settings(trials=trials, trials_per_iteration=per_iteration, exchanged=exchanged)
    history, steps = SearchHistory(), []
    while (step := history.next_step(settings)) is not None:
        count = min(history.count(settings), available)
        steps.append((step, count))
        carried = Candidate(text="[]", module_hash="", carried_over=step == "exchange")
        candidates = (carried,) * count
        if step == "propose":
            history = history.proposed(candidates, cost_model=b"", seconds=0.0)
        else:
            history = history.exchanged(candidates, seconds=0.0)
        tried = tuple(make_trial(candidate=candidate) for candidate in candidates)
        if tried or step == "propose":
            history = history.tried(tried, seconds=0.0)
    return steps


@pytest.mark.parametrize(
    ("budget", "counts"),
    [
        ((192, 64, 16), [48, 16, 48, 16, 48, 16]),
        ((24, 12, 3), [9, 3, 9, 3]),
        ((20, 16, 4), [12, 4, 1, 3]),
        ((4, 4, 1), [3, 1]),
        ((17, 16, 4), [12, 4, 1, 0]),
    ],
)
def test_an_iteration_ends_with_an_exchange(budget: tuple[int, int, int], counts: list[int]) -> None:
    """Own candidates and those of the partner take turns and spend the budget together."""
    steps = share(*budget)
    assert [count for _, count in steps] == counts
    assert {step for step, _ in steps[::2]} == {"propose"}
    assert {step for step, _ in steps[1::2]} <= {"exchange"}
    assert sum(counts) == budget[0]


def test_partners_have_the_same_number_of_exchanges() -> None:
    """A search that finds little still meets its partner at every exchange, and asks for what is left."""
    assert [step for step, _ in share(12, 4, 1, available=0)] == ["propose", "exchange"] * 3
    assert share(12, 4, 1, available=2) == [("propose", 2), ("exchange", 2)] * 3


def test_a_search_offers_its_own_fastest_schedules() -> None:
    """An offer has the timed schedules that a search found itself, as they were at that exchange."""
    own = tuple(make_trial(latency, number=number) for number, latency in enumerate((3.0, NAN, 1.0)))
    taken = Candidate(text="[]", module_hash="taken", carried_over=True)
    first = SearchHistory().proposed((), cost_model=b"", seconds=0.0).tried(own, seconds=0.0)
    assert first.offer(0) == [own[2], own[0]]
    later = first.exchanged((taken,), seconds=0.0).tried((make_trial(0.5, candidate=taken),), seconds=0.0)
    best = make_trial(0.1, number=9)
    longer = later.proposed((best.candidate,), cost_model=b"", seconds=0.0).tried((best,), seconds=0.0)
    assert longer.offer(0) == [own[2], own[0]]
    assert longer.offer(1) == [best, own[2], own[0]]


def test_an_iteration_extends_a_history() -> None:
    """Trials are appended and time adds up; the model has learned the earlier trials alone."""
    first = SearchHistory().proposed((), cost_model=b"one", seconds=0.0).tried((make_trial(),), seconds=2.0)
    second = first.proposed((), cost_model=b"two", seconds=0.0).tried(
        (make_trial(number=1), make_trial(NAN)), seconds=3.0
    )
    assert [len(history.trials) for history in (first, second)] == [1, 3]
    assert (first.learned, second.learned) == (0, 1)
    assert (second.cost_model, second.iterations, second.seconds) == (b"two", 2, 5.0)


def test_an_iteration_is_over_with_its_last_candidate() -> None:
    """A tried candidate is no longer pending; the iteration counts with its last candidate."""
    trials = tuple(make_trial(number=number) for number in range(3))
    proposed = make_history(1.0).proposed(
        tuple(trial.candidate for trial in trials), cost_model=b"", seconds=1.0
    )
    some = proposed.tried(trials[:2], seconds=2.0)
    assert (some.trials[1:], some.pending) == (trials[:2], (trials[2].candidate,))
    assert (some.iterations, some.learned, some.seconds) == (1, 1, 5.5)
    assert some.tried(trials[2:], seconds=3.0) == proposed.tried(trials, seconds=5.0)
    assert proposed.tried(trials, seconds=5.0).iterations == 2


@pytest.mark.parametrize(
    ("status", "message", "built"),
    [
        (TrialStatus.OK, "", True),
        (TrialStatus.RUN_FAILED, "time_candidate: misaligned address", True),
        (TrialStatus.TIMED_OUT, "time_candidate: no answer within 30 s", True),
        (TrialStatus.TIMED_OUT, "build: no answer within 30 s", False),
        (TrialStatus.BUILD_FAILED, "build: too much shared memory", False),
    ],
)
def test_a_cost_model_learns_from_what_was_built(status: TrialStatus, message: str, built: bool) -> None:  # noqa: FBT001
    """The model learns from candidates that were built, as MetaSchedule's does."""
    assert make_trial(NAN, status=status, message=message).was_built is built
