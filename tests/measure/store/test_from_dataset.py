"""From the dataset back to finished runs: the inverse of building it."""

from __future__ import annotations

from dataclasses import replace

import xarray as xr
from measure_builders import make_failed_record, make_lost, make_record, make_rounds, make_times

import abtune
from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.plan import Plan
from abtune.measure.store.as_dataset import records_from_dataset, records_to_dataset, rounds_from_dataset
from abtune.measure.store.store import Store


def test_a_dataset_gives_its_runs_back(opened: Store, plan: Plan) -> None:
    """Complete, failed, wrong and not yet re-measured runs come out of a dataset and go in again."""
    runs = plan.runs
    for run in runs[:3]:
        opened.save_record(make_record(run))
    opened.save_record(make_failed_record(runs[3]))
    of_first = [run for run in runs[:3] if run.shape == runs[0].shape]
    times = [make_times(run, plan) for run in of_first[1:]]
    opened.save_rounds(make_rounds(runs[0].shape, make_lost(of_first[0], "wrong"), *times))
    dataset = opened.to_dataset(plan)
    records, rounds = records_from_dataset(dataset), rounds_from_dataset(dataset)
    assert len(records) == 4
    again = records_to_dataset(plan, records, rounds, dataset.attrs)
    xr.testing.assert_identical(again, dataset)
    assert {winner.failure for winner in rounds[0].winners} >= {"wrong"}


def test_winners_of_several_hosts_keep_their_hosts(opened: Store, plan: Plan) -> None:
    """In a merged dataset, one host may have timed some winners of a shape, and another host the others."""
    runs = [run for run in plan.runs if run.shape == plan.runs[0].shape]
    for run in runs:
        opened.save_record(make_record(run))
    opened.save_rounds(make_rounds(runs[0].shape, *(make_times(run, plan) for run in runs)))
    dataset = opened.to_dataset(plan)
    dataset["host"].loc[{"shape": runs[0].shape.label, "seed": 1}] = "elsewhere"
    for rounds in rounds_from_dataset(dataset):
        opened.save_rounds(rounds)
    xr.testing.assert_identical(opened.to_dataset(plan)["host"], dataset["host"])


def test_transfers_come_back_without_the_hashes_of_their_kernels() -> None:
    """The schema requires no hashes, so a dataset may lack them; all else comes back."""
    dataset = abtune.open_dataset("h200-tvm14009")
    without_hashes = rounds_from_dataset(dataset.drop_vars("transfer_kernel"))
    known = rounds_from_dataset(dataset)
    assert {transfer.kernel for rounds in without_hashes for transfer in rounds.transfers} == {""}
    for one, other in zip(without_hashes, known, strict=True):
        assert [repr(transfer) for transfer in one.transfers] == [
            repr(replace(transfer, kernel="")) for transfer in other.transfers
        ]


def test_searches_of_different_length_come_back_as_long_as_they_were(opened: Store, plan: Plan) -> None:
    """Padding is not read as trials: every record comes back as it went in."""
    lengths = (3, 1, 0, 2)
    records = [
        make_record(run, trial_latency=[1e-3] * length, trial_status=[TrialStatus.OK] * length)
        for run, length in zip(plan.runs[: len(lengths)], lengths, strict=True)
    ]
    read_back = records_from_dataset(records_to_dataset(plan, records, (), opened.about()["about"]))
    assert sorted(map(repr, read_back)) == sorted(map(repr, records))
