"""Products that are computed in blocks."""

import numpy as np
import pytest

from abtune.stats import splits
from abtune.stats.splits import blocked_product


@pytest.mark.parametrize("limit", [1, 40, 1 << 18])
@pytest.mark.parametrize(("rows", "n", "columns"), [(7, 3, 4), (1, 5, 9), (0, 3, 2), (50, 2, 1), (4, 3, 0)])
def test_it_is_the_product(
    rows: int, n: int, columns: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size of a block does not matter."""
    monkeypatch.setattr(splits, "_MULTIPLICATIONS", limit)
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(rows, n)), rng.normal(size=(n, columns))
    np.testing.assert_allclose(blocked_product(left, right), left @ right, rtol=1e-12)
