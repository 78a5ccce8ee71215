"""Makes the data of known truth importable that tests and scripts share: it lies beside the tests.

Simulated reports take a quarter of the resamples. Each bound is less exact, but no rate of errors changes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from abtune.stats.intervals import bootstrap_t

sys.path.append(str(Path(__file__).parents[2] / "tests" / "helpers"))
bootstrap_t.RESAMPLES = 9_999
