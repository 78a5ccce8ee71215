"""The cost of a sweep, against sums done by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from measure_builders import (
    NEW,
    PLAIN,
    SMALL,
    make_facts,
    make_failed_record,
    make_record,
    make_rounds,
    make_times,
    make_workplace,
    small_plan,
)

from abtune.dataset.schema import TransferStatus
from abtune.measure.plan.plan import Cost, Plan, estimate
from abtune.measure.plan.records import Rounds, RunRecord, WinnerTimes
from abtune.measure.plan.workplace import busy_cores, machine_load
from abtune.shapes import Shape, parse_shape


def cost_of(
    plan: Plan, kind: str, cores: int, devices: int, done: list[RunRecord], measured: tuple[Rounds, ...] = ()
) -> Cost:
    """Return the cost of a plan on some cores and devices of a kind."""
    facts = make_facts(kind=kind, devices=("a device",) * devices)
    return estimate(plan, make_workplace(facts, cores=cores), done, measured)


def measured_again(plan: Plan, shape: Shape) -> Rounds:
    """Return the timings of all winners of a shape."""
    return make_rounds(shape, *(make_times(run, plan) for run in plan.runs if run.shape == shape))


def test_without_runs_typical_numbers_count() -> None:
    """On a GPU an iteration of evolutionary search counts 85 s, of sampling 0.5 s, a candidate 0.4 s."""
    sampling = replace(NEW, strategy="replay-trace")
    plan = small_plan(SMALL, seeds=1, configs=(PLAIN, sampling), trials=100, trials_per_iteration=64)
    cost = cost_of(plan, "cuda", 4, 1, [])
    expected = (2 * 85 + 100 * 0.4) + (2 * 0.5 + 100 * 0.4)
    assert (cost.runs, cost.from_runs) == (2, 0)
    assert cost.core_seconds == pytest.approx(expected)
    assert cost.seconds == pytest.approx(expected / 4 + 2 * 2 * 2 * 3 * 0.001)


@pytest.mark.parametrize(
    ("options", "times"),
    [({"population_size": 1024}, 1.6), ({"genetic_num_iters": 1}, 0.55), ({"eps_greedy": 0.1}, 1.0)],
)
def test_a_larger_population_takes_longer(options: dict[str, float], times: float) -> None:
    """Two fifths of an iteration on a GPU, 34 s of 85 s, are spent before the population evolves."""
    other = replace(NEW, strategy_options=options)
    plan = small_plan(SMALL, seeds=1, configs=(PLAIN, other), trials=64, trials_per_iteration=64)
    expected = (1 + times) * 85 + 2 * 64 * 0.4
    assert cost_of(plan, "cuda", 4, 1, []).core_seconds == pytest.approx(expected)


def test_workloads_of_the_user_take_longer_on_a_gpu() -> None:
    """They count 1.8 times as much there, and as much as others on a CPU."""
    own = small_plan(parse_shape("mine:softmax"), seeds=1)
    for kind, times in (("cuda", 1.8), ("llvm", 1.0)):
        usual = cost_of(small_plan(SMALL, seeds=1), kind, 4, 1, []).core_seconds
        assert cost_of(own, kind, 4, 1, []).core_seconds == pytest.approx(times * usual)


def test_a_short_trial_tells_how_fast_a_core_searches() -> None:
    """Cores that sample half as many schedules a second as typical ones take twice as long."""
    plan = small_plan(SMALL, seeds=8)
    facts = make_facts(devices=("a device",) * 10**6)
    typical, slow = (make_workplace(replace(facts, rate=rate), cores=4) for rate in (0.0, 320.0 / 2))
    assert estimate(plan, slow, [], ()).seconds == pytest.approx(2 * estimate(plan, typical, [], ()).seconds)
    # The times of finished runs have the speed of this machine in them.
    done = [make_record(run) for run in plan.runs if run.seed == 0]
    assert estimate(plan, slow, done, ()) == estimate(plan, typical, done, ())


def test_a_machine_is_busy_beside_other_programs() -> None:
    """Three processes on four cores make it busy."""
    idle = make_workplace(cores=4)
    assert not idle.is_busy
    assert replace(idle, load=3.0).is_busy


def test_a_container_does_not_take_the_load_of_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight of 32 cores are not busy while 20 processes run on the others."""
    monkeypatch.setattr("os.cpu_count", lambda: 32)
    monkeypatch.setattr("abtune.measure.plan.workplace.busy_cores", lambda: 20.0)
    assert machine_load(8) == 0
    monkeypatch.setattr("abtune.measure.plan.workplace.busy_cores", lambda: 30.0)
    assert machine_load(8) == 6
    assert machine_load(64) == 30


def test_the_busy_share_of_a_machine_in_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four cores that are busy for 80 % of a moment count as 3.2; a system that does not say, as none."""
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.setattr("psutil.cpu_percent", lambda interval: 80.0 if interval else 0.0)
    assert busy_cores() == pytest.approx(3.2)
    monkeypatch.setattr("psutil.cpu_percent", lambda _: Path("no/such/file").read_bytes())
    assert busy_cores() is None


def test_finished_runs_say_what_the_others_cost() -> None:
    """A run costs the mean of its configuration's finished runs; finished runs cost nothing more."""
    plan = small_plan(SMALL, seeds=3)
    done = [
        make_record(run, tuning_time=10.0 + 20.0 * run.seed)
        for run in plan.runs
        if run.config.name == "plain" and run.seed < 2
    ]
    cost = cost_of(plan, "llvm", 1, 1, done)
    assert (cost.runs, cost.from_runs) == (4, 2)
    typical = 2 * 4.0 + 4 * 0.2
    assert cost.core_seconds == pytest.approx(20.0 + 3 * typical)


def test_nothing_left_costs_no_search() -> None:
    """When all runs are done and their winners measured again, nothing is left to pay for."""
    plan = small_plan(SMALL)
    done = [make_record(run) for run in plan.runs]
    cost = cost_of(plan, "llvm", 1, 1, done, (measured_again(plan, SMALL),))
    assert (cost.runs, cost.core_seconds, cost.seconds) == (0, 0.0, 0.0)


def test_winners_that_wait_for_their_timing_cost_it() -> None:
    """A sweep that stopped between searching and measuring still has to measure all winners of its shapes."""
    plan = small_plan(SMALL, repeat_ms=1000)
    done = [make_record(run) for run in plan.runs]
    alone = cost_of(plan, "llvm", 1, 1, done)
    assert (alone.runs, alone.core_seconds) == (0, 0.0)
    # Four winners, twice two rounds of three timings of a second each.
    assert alone.seconds == pytest.approx(4 * 2 * 2 * 3)


def test_shapes_without_new_winners_are_not_measured_again() -> None:
    """A further shape costs what it would cost alone."""
    both = small_plan(repeat_ms=1000)
    alone = replace(both, shapes=both.shapes[1:])
    first = [make_record(run) for run in both.runs if run.shape == both.shapes[0]]
    timed = (measured_again(both, both.shapes[0]),)
    costs = [cost_of(plan, "llvm", 1, 1, first, timed).seconds for plan in (both, alone)]
    assert costs[0] == costs[1]


def test_runs_of_other_plans_do_not_count() -> None:
    """Runs of another shape or configuration do not count as finished runs of the plan."""
    plan = small_plan(SMALL)
    foreign = [make_record(plan.runs[0], shape="other"), make_record(plan.runs[0], config="other")]
    assert cost_of(plan, "llvm", 1, 1, foreign).runs == len(plan.runs)


def test_no_sweep_is_faster_than_its_longest_run() -> None:
    """A run is a chain of iterations. Further cores shorten it beside a GPU, to a quarter at most."""
    plan = small_plan(SMALL, seeds=2)
    few, enough, many = (cost_of(plan, "llvm", cores, 1, []).seconds for cores in (2, 4, 400))
    assert few > enough == many
    few, enough, many = (cost_of(plan, "cuda", cores, 1, []).seconds for cores in (4, 16, 400))
    assert few == pytest.approx(4 * enough, rel=0.01)
    assert enough == many


def test_more_cores_and_devices_take_less_time() -> None:
    """Cores divide the searches, devices the measuring, and neither changes the work."""
    plan = small_plan(SMALL, repeat_ms=1000)
    slow, cores, devices = (cost_of(plan, "cuda", *given, []) for given in ((1, 1), (2, 1), (1, 2)))
    assert slow.core_seconds == cores.core_seconds == devices.core_seconds
    assert slow.seconds - cores.seconds == pytest.approx(slow.core_seconds / 2)
    assert slow.seconds - devices.seconds == pytest.approx((slow.seconds - slow.core_seconds) / 2)


def test_runs_that_failed_say_nothing_about_the_cost() -> None:
    """A search that failed at once took no time, and those that are left will take some."""
    plan = small_plan(SMALL, seeds=3)
    done = [make_failed_record(run, tuning_time=0.0) for run in plan.runs if run.seed == 0]
    cost = cost_of(plan, "llvm", 1, 1, done)
    assert (cost.runs, cost.from_runs) == (4, 0)
    assert cost.core_seconds == pytest.approx(4 * (2 * 4.0 + 4 * 0.2))


def test_transfers_that_are_missing_cost_their_timing() -> None:
    """Winners that were timed without transfers are timed anew with them, two kernels for each winner."""
    plan = replace(small_plan(SMALL, repeat_ms=1000), transfer=True)
    done, timed = [make_record(run) for run in plan.runs], measured_again(plan, SMALL)
    assert cost_of(plan, "llvm", 1, 1, done, (timed,)).seconds == pytest.approx(2 * 4 * 2 * 2 * 3)
    transfer = WinnerTimes(origin="plain", seed=0, config="new", status=TransferStatus.DOES_NOT_FIT)
    with_them = replace(timed, transfers=(transfer,))
    assert cost_of(plan, "llvm", 1, 1, done, (with_them,)).seconds == 0
    # A session that adds seeds goes on with transfers, also without --transfer.
    further = small_plan(SMALL, seeds=3, repeat_ms=1000)
    more = [cost_of(further, "llvm", 1, 1, done, (one,)) for one in (timed, with_them)]
    assert more[1].seconds - more[0].seconds == pytest.approx(6 * 2 * 2 * 3)
