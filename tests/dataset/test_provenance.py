"""What a dataset says about itself: used where it is of its kind, and otherwise as good as unsaid."""

from __future__ import annotations

import pytest

import abtune
from abtune.dataset.merge import merge_datasets


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("configurations", '[{"name": []}]'),
        ("settings", '{"rng_seed": []}'),
        ("sources", '[{"settings": {"rng_seed": []}}]'),
    ],
)
def test_attributes_of_the_wrong_kind_are_left_out(name: str, value: object) -> None:
    """A damaged attribute changes no verdict, and parts of a dataset that have it can be merged."""
    dataset = abtune.open_dataset("h200-share")
    damaged = dataset.assign_attrs({name: value})
    verdicts = [[row.verdict for row in abtune.analyze(one).comparisons] for one in (dataset, damaged)]
    assert verdicts[0] == verdicts[1]
    parts = {str(seed): damaged.isel(seed=[seed]) for seed in range(2)}
    assert merge_datasets(parts).sizes["seed"] == 2


def test_a_caveat_may_be_plain_text() -> None:
    """Who adds a caveat by hand need not write JSON."""
    dataset = abtune.open_dataset("h200-share").assign_attrs(caveats="The hosts differ.")
    assert "The hosts differ." in abtune.analyze(dataset).caveats
