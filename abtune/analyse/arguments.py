"""What may be asked of an analysis; everything else is one clear line."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from abtune.analyse.comparison import Choices
from abtune.errors import InputError, unknown_name
from abtune.shapes import select_labels
from abtune.stats.estimand import Estimand
from abtune.stats.methods import methods_for
from abtune.stats.multiplicity import Correction

TESTS = ("permutation", "moderated")


def check_numbers(level: float, margin: float, rng_seed: int) -> None:
    """Refuse what is not a fraction, above all a level of 95."""
    if not 0 < round(level, 12) < 1:  # tests are at 1 - level, to as many digits
        raise InputError(f"level is a fraction between 0 and 1, such as 0.95, not {level:g}")
    if not 0 < margin < 1:
        raise InputError(f"margin is a fraction between 0 and 1, such as 0.02, not {margin:g}")
    if rng_seed < 0:
        raise InputError(f"rng_seed must not be negative, as {rng_seed} is")


def choose_methods(
    *, method: str | None, estimand: str, test: str, correction: str, require_margin: bool = False
) -> Choices:
    """Return the names that were asked for, or say which there are and what does not go together."""
    for kind, name, known in (
        ("estimand", estimand, [part.value for part in Estimand]),
        ("test", test, list(TESTS)),
        ("correction", correction, [part.value for part in Correction]),
    ):
        if name not in known:
            raise unknown_name(kind, name, known)
    methods = list(methods_for(Estimand(estimand)))
    if method is not None and method not in methods:
        raise InputError(f"no interval {method!r} of the {estimand}; there is {', '.join(methods)}")
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
    for name in (baseline, candidate):
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
        wanted = [shapes] if isinstance(shapes, str) else shapes
        dataset = dataset.sel(shape=list(select_labels(wanted, labels)))
    if not dataset.sizes["shape"]:
        raise InputError("no shape to analyse: the dataset has none, or none was chosen")
    return dataset
