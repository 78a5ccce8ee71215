"""A plan, and a store with some of it done."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from measure_builders import make_history, make_record, make_rounds, make_times, small_plan
from sweeping import ABOUT

from abtune.measure.plan.plan import Plan
from abtune.measure.store.store import Store

NAN = math.nan


@pytest.fixture
def plan() -> Plan:
    return small_plan()


@pytest.fixture
def kept(store: Store, plan: Plan) -> Store:
    """Keep one run, one search in progress and one re-measured shape."""
    run, other = plan.runs[:2]
    with store.opened(plan, ABOUT):
        store.save_record(make_record(run))
        store.save_history(other, make_history(1e-3, NAN), "2026-01-01T00:00:00.000")
        store.save_rounds(make_rounds(run.shape, make_times(run, plan)))
    return store


@pytest.fixture
def opened(store: Store, plan: Plan) -> Iterator[Store]:
    with store.opened(plan, ABOUT):
        yield store
