"""Hostile changes of real files, for tests that read whatever a file may hold.

The examples are the same in each run; ``ABTUNE_FUZZ=5000 python -m pytest tests/ingest/test_fuzz.py
tests/measure/store/test_fuzz_work_files.py`` takes that many new ones of each file.
"""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings

FUZZ = settings(
    max_examples=int(os.environ.get("ABTUNE_FUZZ", "40")),
    derandomize="ABTUNE_FUZZ" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
HOSTILE = [
    *(None, True, False, 0, -1, 1.5, 2**63, 10**400, 1e308, 1e-320, math.nan, math.inf),
    *("", " ", "\0", "\u202e", "x" * 5_000, "1e9", "-", "\ud800", "=1+1", "../x"),
    *([], {}, [[]], [0], [None], {"": None}, {"a": {"b": []}}, ["x"] * 50),
]


@st.composite
def changed_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Return the content with a few pieces cut, doubled, swapped or overwritten."""
    for _ in range(draw(st.integers(1, 4))):
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(content))] * 2)))
        end = min(end, start + draw(st.sampled_from([1, 2, 10, 100_000])))
        piece = content[start:end]
        new = draw(
            st.sampled_from([b"", piece * 2, piece[::-1], piece.swapcase(), piece * 50])
            | st.binary(max_size=8)
            | st.sampled_from(
                [b"\0", b"\n", b"|", b",", b'"', b"{", b"]", b"nan", b"-1", b"1e999", b"\xff", b"9" * 5_000]
            )
        )
        content = content[:start] + new + content[end:]
    return content


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container in a value with each of its keys."""
    stack = [value]
    while stack:
        container = stack.pop()
        if isinstance(container, dict | list):
            keys = list(container) if isinstance(container, dict) else range(len(container))
            yield from ((container, key) for key in keys)
            stack += [container[key] for key in keys]


@st.composite
def changed_json(draw: st.DrawFn, content: bytes) -> bytes:
    """Return JSON, or lines of it, with a few values removed or replaced; other texts as they are."""
    try:
        lines = [json.loads(content)]
    except ValueError:
        try:
            lines = [json.loads(line) for line in content.splitlines()]
        except ValueError:
            return draw(changed_bytes(content))
    for _ in range(draw(st.integers(1, 3))):
        known = list(places(lines))
        container, key = known[draw(st.integers(0, len(known) - 1))]
        if draw(st.booleans()) or container is lines:
            container[key] = copy.deepcopy(draw(st.sampled_from(HOSTILE)))
        else:
            del container[key]
    return "\n".join(json.dumps(line) for line in lines).encode("utf-8", "surrogatepass")
