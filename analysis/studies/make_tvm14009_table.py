"""Build data/tvm14009-rtx3080.nc from the published figures in data/tvm14009-rtx3080.md."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

import abtune
from abtune.ingest.sources import Source
from abtune.ingest.timings.published import read_tables
from abtune.ingest.timings.timing_cells import import_readings

DATA = Path(__file__).resolve().parents[2] / "data"
ATTRS = {
    "title": "Published table of apache/tvm#14009: MetaSchedule with and without asynchronous copies",
    "source": "https://github.com/apache/tvm/pull/14009",
    "tvm_commit": "afbfb7aa7e43732cb716f8e443df696110be6afc",
    "gpu": "NVIDIA GeForce RTX 3080",
    "trials": 5000,
    "comment": "one tuning run a cell; latency from GFLOPS as 2 (M N K + M N) / rate",
}
KEPT = ("Conventions", "schema_version", "abtune_version")


def build() -> xr.Dataset:
    """Read the table and say where it comes from."""
    text = (DATA / "tvm14009-rtx3080.md").read_text(encoding="utf-8")
    dataset = import_readings({Source(path=DATA): read_tables(text, "gflops")}, shape="").dataset
    dataset.attrs = {name: dataset.attrs[name] for name in KEPT} | ATTRS
    return dataset


if __name__ == "__main__":
    abtune.save_dataset(build(), DATA / "tvm14009-rtx3080.nc")
