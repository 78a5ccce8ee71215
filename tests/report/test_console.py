"""Lines in the cells of a terminal: none too long that need not be, nothing left out."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from abtune.report.text.console import wrap

WORDS = st.lists(st.text("aé_-卷🚀\xa0", min_size=1, max_size=30), max_size=12)


def squeezed(text: str) -> str:
    return text.replace(" ", "").replace("\xa0", "")


@given(words=WORDS, width=st.integers(8, 60))
def test_lines_fit_and_hold_everything(words: list[str], width: int) -> None:
    """No line is wider than the room, and no character is lost."""
    lines = wrap(" ".join(words), width)
    assert all(cell_len(line) <= width for line in lines)
    assert squeezed("".join(lines)) == squeezed("".join(words))


@given(words=st.lists(st.text("abc", min_size=1, max_size=20), max_size=12), width=st.integers(24, 60))
def test_short_words_are_broken_as_everywhere(words: list[str], width: int) -> None:
    """Where no word is too long and each character takes a cell, lines are those of the standard library."""
    text = " ".join(words)
    assert wrap(text, width) == (textwrap.wrap(text, width) or [""])


def test_a_no_break_space_joins_words() -> None:
    """Words joined by a no-break space stay in one line, and it looks like any other blank."""
    assert wrap("57.46\xa0(8), 57.78\xa0(6)", 11) == ["57.46 (8),", "57.78 (6)"]


def test_a_word_stays_whole_as_long_as_it_may() -> None:
    """A label wider than a paragraph stays whole on a line of its own, if the console has room for it."""
    label = "a" * 30
    assert wrap(f"see {label} there", 20, longest=30) == ["see", label, "there"]
    assert wrap(f"see {label} there", 20, longest=29) == ["see", "a" * 20, "a" * 10 + " there"]


@pytest.mark.parametrize(
    ("word", "lines"),
    [
        ("first_part_second_part", ["first_part_", "second_part"]),
        ("a_" + "b" * 20, ["a_", "b" * 14, "b" * 6]),
        ("卷积层一二三四五六", ["卷积层一二三四", "五六"]),
    ],
)
def test_long_words_are_broken_where_they_are_joined(word: str, lines: list[str]) -> None:
    """A long word is broken behind a joint, else anywhere, but never inside a character."""
    assert wrap(word, 14) == lines
