"""Whatever the work folder of a sweep holds, it is read or refused in one line."""

from __future__ import annotations

import contextlib
import gzip

import hypothesis.strategies as st
import pytest
from hypothesis import given
from mutations import FUZZ, changed_bytes, changed_json

from abtune.errors import AbtuneError, StoreError
from abtune.measure.plan.plan import Plan
from abtune.measure.store.store import Store


@pytest.mark.parametrize("pattern", ["sweep.json", "runs/*", "searches/*", "rounds/*"])
@FUZZ
@given(data=st.data())
def test_work_files_are_read_or_refused(kept: Store, plan: Plan, pattern: str, data: st.DataObject) -> None:
    """A sweep that goes on, and the dataset: none ends in a traceback."""
    (path,) = kept.folder.glob(pattern)
    whole = path.read_bytes()
    content = gzip.decompress(whole) if path.suffix == ".gz" else whole
    changed = data.draw(changed_json(content) | changed_bytes(content))
    packed = gzip.compress(changed) if path.suffix == ".gz" and data.draw(st.booleans()) else changed
    try:
        path.write_bytes(packed)
        with contextlib.suppress(StoreError):
            kept.records()
        with contextlib.suppress(StoreError):
            kept.rounds()
        with contextlib.suppress(StoreError):
            kept.history(plan.runs[1])
        with contextlib.suppress(AbtuneError):
            kept.check(plan)
            kept.save_dataset(kept.to_dataset(plan))
    finally:
        path.write_bytes(whole)
        kept.dataset.unlink(missing_ok=True)
