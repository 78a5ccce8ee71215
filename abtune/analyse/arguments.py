"""What may be asked of an analysis; everything else is one clear line."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence

import numpy as np
import xarray as xr

from abtune.analyse.comparison import Choices
from abtune.errors import InputError, unknown_name
from abtune.shapes import select_labels
from abtune.stats.estimand import Estimand
from abtune.stats.methods import methods_for
from abtune.stats.multiplicity import Correction

TESTS = ("permutation", "moderated")


def check_numbers(level: float, margin: float, rng_seed: int) -> None:
    """Refuse what is not a fraction, above all a level of 95, and seeds that are not whole."""
    for name, value, example in (("level", level, 0.95), ("margin", margin, 0.02)):
        if not _is_number(value):
            raise InputError(f"{name} is a fraction between 0 and 1, such as {example}, not {_shown(value)}")
    if not 0 < round(level, 12) < 1:  # tests are at 1 - level, to as many digits
        raise InputError(f"level is a fraction between 0 and 1, such as 0.95, not {level:g}")
    if not 0 < margin < 1:
        raise InputError(f"margin is a fraction between 0 and 1, such as 0.02, not {margin:g}")
    if not isinstance(rng_seed, int | np.integer):
        raise InputError(f"rng_seed is a whole number, such as 0, not {_shown(rng_seed)}")
    if rng_seed < 0:
        raise InputError(f"rng_seed must not be negative, as {rng_seed} is")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)


def _shown(value: object) -> str:
    """Show a value in one short line."""
    return " ".join(reprlib.repr(value).split())


def choose_methods(
    *, method: str | None, estimand: str, test: str, correction: str, require_margin: bool = False
) -> Choices:
    """Return the names that were asked for, or say which there are and what does not go together."""
    for kind, name, known in (
        ("estimand", estimand, [part.value for part in Estimand]),
        ("test", test, list(TESTS)),
        ("correction", correction, [part.value for part in Correction]),
    ):
        if not isinstance(name, str) or name not in known:  # the nearest name is not the nearest meaning
            raise InputError(f"unknown {kind} {_shown(name)}; there are: {', '.join(known)}")
    methods = list(methods_for(Estimand(estimand)))
    if method is not None and method not in methods:
        raise InputError(f"no interval {_shown(method)} of the {estimand}; there is {', '.join(methods)}")
    if test == "moderated" and estimand == Estimand.MEDIAN:
        raise InputError("the moderated test compares means; with medians, the test is permutation")
    if correction == Correction.MAX_T and (test == "moderated" or estimand == Estimand.MEDIAN):
        other = "the moderated test" if test == "moderated" else "medians"
        raise InputError(f"max-t corrects permutation tests of means; with {other}, choose holm, bh or none")
    return Choices(
        estimand=estimand,
        method=method or methods[0],
        test=test,
        correction=correction,
        require_margin=require_margin,
    )


def choose_configs(dataset: xr.Dataset, baseline: str | None, candidate: str | None) -> tuple[str, str]:
    """Return the names of baseline and candidate; what is not named is the first that remains."""
    known = [str(name) for name in dataset["config"].values.tolist()]
    if len(known) < 2:
        raise InputError(
            f"a comparison takes two configurations; the dataset has {', '.join(known) or 'none'}"
        )
    for side, name in (("baseline", baseline), ("candidate", candidate)):
        if name is not None and not isinstance(name, str):
            raise InputError(
                f"{side} is the name of a configuration, not {_shown(name)}; there are: {', '.join(known)}"
            )
        if name is not None and name not in known:
            raise unknown_name("configuration", name, known)
    first = baseline if baseline is not None else next(name for name in known if name != candidate)
    second = candidate if candidate is not None else next(name for name in known if name != first)
    if first == second:
        raise InputError(f"baseline and candidate are both {first!r}; name two configurations")
    return first, second


def restrict(dataset: xr.Dataset, shapes: Sequence[str] | None) -> xr.Dataset:
    """Restrict a dataset to the shapes that labels, globs or presets choose."""
    if shapes is not None:
        labels = [str(label) for label in dataset["shape"].values.tolist()]
        wanted = list(shapes) if isinstance(shapes, Iterable) and not isinstance(shapes, str) else [shapes]
        if not all(isinstance(entry, str) for entry in wanted):
            raise InputError(f"shapes is a list of labels, globs or presets, not {_shown(shapes)}")
        dataset = dataset.sel(shape=list(select_labels(wanted, labels)))
    if not dataset.sizes["shape"]:
        raise InputError("no shape to analyse: the dataset has none, or none was chosen")
    return dataset
