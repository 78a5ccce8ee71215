"""Addresses of devices, and kinds of targets that go together."""

from __future__ import annotations

import pytest
from measure_builders import make_facts

from abtune.errors import InputError, TargetError
from abtune.measure.plan.workplace import remote_device, require_kind


def test_a_device_elsewhere_has_an_address_and_a_key() -> None:
    """A tracker and a key go together, and a tracker is a host and a port."""
    assert remote_device("", "") == ""
    assert remote_device("127.0.0.1:9190", "board") == "127.0.0.1:9190/board"
    for tracker, key in (("127.0.0.1:9190", ""), ("", "board")):
        with pytest.raises(InputError, match="go together"):
            remote_device(tracker, key)
    with pytest.raises(InputError, match="no address"):
        remote_device("somewhere", "board")


def test_winners_are_not_built_for_another_kind_of_target() -> None:
    """A GPU's winners mean nothing on a CPU."""
    require_kind(make_facts(), '{"kind": "llvm"}')
    with pytest.raises(
        TargetError, match="tuned for cuda, and this target is of kind llvm; measure them on a machine"
    ):
        require_kind(make_facts(), '{"kind": "cuda"}')


@pytest.mark.parametrize("target", ["llvm", "[]", "{}"])
def test_a_target_that_is_none_is_refused(target: str) -> None:
    """A target that is not JSON with a kind is refused."""
    with pytest.raises(TargetError, match="is no target"):
        require_kind(make_facts(), target)
