"""Numbers inside sentences."""

from __future__ import annotations

import pytest

from abtune.analyse.wording import percent


@pytest.mark.parametrize(
    ("fraction", "plain", "signed"),
    [
        (0.02, "2%", "+2%"),
        (0.1234, "12%", "+12%"),
        (1.5, "150%", "+150%"),
        (-0.25, "-25%", "-25%"),
        (-0.997, "-100%", "-100%"),
        (269.0, "26900%", "+26900%"),
    ],
)
def test_percentages_are_written_out(fraction: float, plain: str, signed: str) -> None:
    """Two significant digits or all before the point, never a power of ten, on either side of zero."""
    assert percent(fraction) == plain
    assert percent(fraction, signed=True) == signed
