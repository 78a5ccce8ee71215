"""The published dump of a torchvision model under seven variants of TVM: 50 timings a process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import xarray as xr

from abtune.ingest.sources import find_files
from abtune.ingest.timings.timings import TIMINGS, read_printed

PATH = Path(__file__).parent.parent.parent / "data" / "torchvision-variants.txt"


def dumped_series() -> npt.NDArray[np.float64]:
    """Return the series in seconds, shape (8, 50); the second is another one of the first variant."""
    reading = read_printed(PATH.read_text(encoding="utf-8"))
    return np.array([timings for cell in reading.cells for timings in cell.rounds])


def dumped_dataset() -> xr.Dataset:
    """Return the dump as ``abtune import timings --shape torchvision`` makes it."""
    values = {option.name: option.default for option in TIMINGS.options}
    return TIMINGS.read(find_files([str(PATH)], []), {**values, "shape": "torchvision"}).dataset
