"""What a label from elsewhere says of its shape."""

from __future__ import annotations

from abtune.errors import InputError
from abtune.shapes import Shape, parse_shape


def shape_named(label: str) -> Shape | None:
    """Return the shape that a published label names; None for any other text."""
    try:
        return parse_shape(label)
    except InputError:
        return None
