"""What a sweep does where the user says nothing: the one place for these numbers.

This module imports nothing of abtune and no library, so that ``abtune --help`` can show the defaults fast.
"""

from __future__ import annotations

from collections.abc import Mapping

# By kind of target: candidates of a run, and candidates of one iteration. A GPU gets MetaSchedule's own
# iterations of 64. A CPU gets sizes with which a small comparison takes minutes.
# Of 320 trials the cost model guides three iterations. In h200-deep the best kernels after 320 are 3 % slower
# than after 512, and after 128 they are 44 % slower (docs/h200-deep.md).
TRIALS: Mapping[str, tuple[int, int]] = {"cuda": (320, 64), "llvm": (24, 12)}
# Share of the trials of an iteration that are schedules of the partner's search, with --share.
SHARE = 0.25
SHAPES: Mapping[str, str] = {"cuda": "tvm14009", "llvm": "quick"}
# With fewer than 7 seeds per configuration, the exact test cannot pass Holm's correction over 29 shapes. Ten
# find 77 % of gains of 5 % at 2 % noise, seven find 58 % (docs/statistics.md, "power").
SEEDS = 10
SEEDS_UNTIL_SETTLED = 20
ROUNDS = 5
REPEATS = 5
CACHE = "warm"
RNG_SEED = 0
