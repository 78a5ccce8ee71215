"""Makes the data of known truth importable that tests and scripts share: it lies beside the tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests" / "helpers"))
