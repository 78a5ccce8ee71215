"""Kinds of targets that go together."""

from __future__ import annotations

import pytest
from measure_builders import make_facts

from abtune.errors import TargetError
from abtune.measure.plan.workplace import require_kind


def test_winners_are_not_built_for_another_kind_of_target() -> None:
    """A GPU's winners mean nothing on a CPU."""
    require_kind(make_facts(), '{"kind": "llvm"}')
    with pytest.raises(
        TargetError, match="tuned for cuda, and this target is of kind llvm; give --target cuda, on a machine"
    ):
        require_kind(make_facts(), '{"kind": "cuda"}')


@pytest.mark.parametrize("target", ["llvm", "[]", "{}"])
def test_a_target_that_is_none_is_refused(target: str) -> None:
    """A target that is not JSON with a kind is refused."""
    with pytest.raises(TargetError, match="is no target"):
        require_kind(make_facts(), target)
