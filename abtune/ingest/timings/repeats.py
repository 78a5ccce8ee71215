"""Which columns beside the times tell repeats of one run from runs of different sizes or devices."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from abtune.ingest.table_columns import RUNS, SHAPES

# Columns that say where a time was measured, which should be the same for both sides.
MACHINE = re.compile(
    r"(.{1,80}\.)?(gpu|cpu|device|host|machine|node|hardware)([ _-]?(name|model|type|id))?", re.IGNORECASE
)
# Columns of settings that both sides should have alike, too. They may differ between the repeats of a run.
SETTING = re.compile(
    r"(data[ _-]?type|dtype|precision|batch)|((gpu|cuda|nvidia)[ _-]?)?driver([ _-]?version)?|"
    r"power[ _-]?(limit|cap)|(runner|worker|instance|server|agent)([ _-]?(name|type|id))?",
    re.IGNORECASE,
)
# Words that count repeats, such as r1. With more words, a column says rather when a line was made.
_COUNTED = re.compile(r"(r|run|rep|repeat|t|trial|try|i|iter|iteration|s|sample)?[\W_]*[\d.]+", re.IGNORECASE)
# A column with this many values tells no kinds of runs apart, unless its name says so.
MOST_KINDS = 20
_WARM_UP = re.compile("warm(ing)?[ _-]?up", re.IGNORECASE)


def splitting_words(name: str, counts: Sequence[tuple[str | None, Mapping[str, int]]]) -> Sequence[str]:
    """Return what a column says of one run, if that tells its times apart and the same of most runs.

    ``counts`` has for each run its shape, and how many times stand beside which value.
    """
    is_name = name.casefold() in SHAPES
    split = [(shape, some) for shape, some in counts if 1 < len(some) < MOST_KINDS + is_name and all(some)]
    words = sorted(split[0][1]) if split else []
    if are_numbers := all(map(_COUNTED.fullmatch, words)):
        numbers = sorted(float(match[0]) for word in words if (match := re.search(r"\d+(\.\d*)?$", word)))
        steps = {round(high - low, 9) for low, high in itertools.pairwise(numbers)}
        is_count = steps <= {1} or (len(steps) == 1 and numbers[0] == 0 and len(numbers) > 2)
        if is_count or name.casefold() in RUNS:
            return []  # they count repeats: 1, 2, 3, or 0, 100, 200
    # Sizes come equally often in each run of a shape, and measured numbers, such as a clock, do not.
    kinds = Counter((shape, frozenset(some.items() if are_numbers else some)) for shape, some in split)
    # The most frequent of each shape, which is the last one here.
    usual = {shape: number for (shape, _), number in reversed(kinds.most_common()) if number > 1}
    are_told = is_name or any(map(_WARM_UP.search, words))
    is_alone = are_told or (MACHINE.fullmatch(name) is not None and not are_numbers)
    alike = len(split) if is_alone else sum(usual.values())
    few = len({word for _, some in split for word in some}) < MOST_KINDS
    return words if (alike > 0.75 * len(counts) and few) or (are_told and alike) else []
