"""Add the transfers of a later measurement to a dataset, whose own timings stay as they were.

``abtune measure DATASET --transfer --out LATER.nc`` times all winners anew. A published dataset keeps its
timings, and with them every number that was reported from it; only what is new is taken over.

Usage: python analysis/studies/add_transfers.py DATASET.nc LATER.nc
"""

import sys

import abtune


def main(path: str, later_path: str) -> None:
    """Write the first dataset again, with the transfers of the second."""
    dataset, later = abtune.open_dataset(path).load(), abtune.open_dataset(later_path).load()
    for name in ("shape", "config", "seed", "round", "repeat"):
        if dataset.sizes[name] != later.sizes[name]:
            raise SystemExit(f"{later_path} has another number of {name}s")
    for name in ("shape", "config", "seed", "winner"):
        if not dataset[name].equals(later[name]):
            raise SystemExit(f"{later_path} is of other winners: {name} differs")
    transfers = later[[name for name in later.variables if str(name).startswith("transfer_")]]
    full = dataset.assign(transfers.drop_vars(set(transfers.coords) - {"origin"}))
    full.attrs["transfers_measured"] = later.attrs["measured_again"]
    dataset.close()
    abtune.save_dataset(full, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
