"""Results of other tools, written by running them: small searches of a 16x32x64 product, and timings."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).parent.parent / "ingest" / "samples"
TUNED = SAMPLES / "tuned"
