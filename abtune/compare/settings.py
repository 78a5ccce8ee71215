"""How an analysis is made: one value that checks itself and travels whole."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import xarray as xr

from abtune.dataset.schema import SeedDesign, design_of, labels_of
from abtune.errors import InputError, unknown_name
from abtune.samples import extract
from abtune.shapes import PRESETS, select_labels
from abtune.stats.estimand import ALLOWED_BEST_OF, Estimand
from abtune.stats.intervals.interval_methods import Method, methods_for
from abtune.stats.testing.difference_tests import (
    CORRECTIONS,
    TESTS,
    Correction,
    DifferenceTest,
    default_correction,
)
from abtune.stats.testing.looks import LOOKS
from abtune.text import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How shapes are judged, by the names of the command line; InputError for a value that cannot be used."""

    baseline: str
    candidate: str
    level: float = 0.95  # confidence level of the intervals, a fraction
    margin: float = 0.02  # the smallest boost that matters; a slowdown by the same ratio matters equally
    tolerance: float = 0.05  # the largest slowdown that is acceptable, a fraction
    rng_seed: int = 0  # seed of the resampling
    estimand: Estimand = Estimand.GEOMETRIC_MEAN  # whose ratio the boost is; its name becomes one
    method: str = ""  # the interval; empty for the default of the estimand
    design: SeedDesign = SeedDesign.INDEPENDENT  # how runs with one seed number belong together
    correction: str = ""  # holm, max-t, bh or none; empty for the test's, whatever the numbers of seeds
    weights: Weights | None = None  # how often a program calls each shape, for the boost of its whole time
    look_alpha: float | None = None  # family-wise level at one of several looks at growing data
    of_candidates: int = 1  # candidates that are judged against the baseline, which share the level
    dropped: tuple[int, ...] = ()  # numbers of the shapes that earlier looks dropped: their p counts as 1

    def __post_init__(self) -> None:
        # As numbers of Python, because those of NumPy are none in JSON.
        for name, example in (("level", 0.95), ("margin", 0.02), ("tolerance", 0.05)):
            object.__setattr__(self, name, check_fraction(name, getattr(self, name), example))
        for name, least in (("rng_seed", 0), ("of_candidates", 1)):
            object.__setattr__(self, name, check_whole(name, getattr(self, name), least))
        if self.weights is not None:
            object.__setattr__(self, "weights", as_weights(self.weights))
        _check_name("estimand", self.estimand, [known.value for known in Estimand], f" ({ALLOWED_BEST_OF})")
        object.__setattr__(self, "estimand", Estimand(self.estimand))  # as the frozen value is being made
        if self.correction != "":
            _check_name("correction", self.correction, list(CORRECTIONS))
        if self.paired and self.estimand is not Estimand.GEOMETRIC_MEAN:
            raise InputError(
                f"there is no {self.estimand} of pairs, which this dataset has; use {Estimand.GEOMETRIC_MEAN}"
            )
        methods = list(methods_for(self.estimand, paired=self.paired))
        if self.method != "" and self.method not in methods:
            seeds = f"{'pairs' if self.paired else 'independent seeds'}, which this dataset has"
            known = f"the {self.estimand} of {seeds}; choose {', '.join(methods)}"
            raise InputError(f"no interval {shown(self.method)} of {known}")
        object.__setattr__(self, "method", self.method or methods[0])
        object.__setattr__(self, "correction", self.correction or self.difference_test.correction)
        fitting = [name for name, record in CORRECTIONS.items() if record.fits(self.difference_test)]
        if self.correction not in fitting:
            raise InputError(
                f"{self.correction} does not correct the test of the {self.estimand}; "
                f"choose {', '.join(fitting)}"
            )

    @property
    def paired(self) -> bool:
        """Whether runs with one seed number are a pair."""
        return self.design is not SeedDesign.INDEPENDENT

    @property
    def equal_knowledge(self) -> bool:
        """Whether both sides know the same schedules, because their searches exchanged them."""
        return self.design is SeedDesign.SHARED

    @property
    def interval(self) -> Method:
        """The interval."""
        return methods_for(self.estimand, paired=self.paired)[self.method]

    @property
    def difference_test(self) -> DifferenceTest:
        """The test of a difference."""
        return TESTS[self.estimand, self.paired]

    @property
    def procedure(self) -> Correction:
        """The correction for the many shapes."""
        return CORRECTIONS[self.correction]

    @property
    def unit(self) -> str:
        """What a sample consists of, in words."""
        return "pair" if self.paired else "seed"

    @property
    def alpha(self) -> float:
        """Family-wise level of this candidate's tests; several candidates share the level equally."""
        alpha = alpha_of(self.level) if self.look_alpha is None else self.look_alpha
        # A correction that promises nothing for the family has nothing to share.
        return alpha / self.of_candidates if self.family_wise else alpha

    @property
    def candidate_level(self) -> float:
        """Level of each candidate's interval if the intervals of all candidates hold at once."""
        if self.of_candidates == 1 or not self.family_wise:
            return self.level
        return 1 - alpha_of(self.level) / self.of_candidates

    @property
    def family_wise(self) -> bool:
        """Whether the chance of any false claim over all shapes is at most alpha."""
        return self.procedure.family_wise


def candidates_judged(dataset: xr.Dataset, candidate: str | None) -> int:
    """Return how many candidates of a dataset share the level: all, unless one is named."""
    return 1 if candidate is not None else max(dataset.sizes["config"] - 1, 1)


def alpha_of(level: float) -> float:
    """Return the level of the tests that go with intervals of a confidence level, both fractions."""
    return round(1 - level, 12)  # a level of 0.9 means 0.1, not a rounding error less


def margin_ends(margin: float) -> tuple[float, float]:
    """Return the boosts at the margin: a slowdown by the same ratio counts as equally large."""
    return 1 / (1 + margin) - 1, margin


def make_settings(
    dataset: xr.Dataset,
    *,
    baseline: str | None = None,
    candidate: str | None = None,
    weights: Weights | Mapping[str, float] | None = None,
    **choices: object,
) -> Settings:
    """Return settings for a dataset: names that are not given are its first configurations."""
    first, second = configurations(dataset, baseline, candidate)
    design = SeedDesign(design_of(dataset.attrs))
    given: Any = {"weights": weights, "design": design, **choices}  # which Settings checks
    settings = Settings(baseline=first, candidate=second, **given)
    if choices.get("correction") or settings.estimand is not Estimand.GEOMETRIC_MEAN:
        return settings
    seeds = zip(*(extract(dataset, config).n.tolist() for config in (first, second)), strict=True)
    default = default_correction(
        paired=settings.paired,
        looks=LOOKS in dataset.attrs,
        alpha=settings.alpha,
        seeds=[n for n in seeds if min(n) >= 2],  # others have no test
    )
    return replace(settings, correction=default.name)


def restrict(dataset: xr.Dataset, shapes: Sequence[str] | None) -> xr.Dataset:
    """Return the part of a dataset that labels, kinds, globs or presets select."""
    if shapes is not None:
        labels = labels_of(dataset, "shape")
        listed = np.iterable(shapes) and not isinstance(shapes, str)
        # The entries of xarray's arrays are arrays themselves.
        entries: Any = shapes.to_numpy() if hasattr(shapes, "to_numpy") else shapes
        wanted: list[Any] = list(entries) if listed else [shapes]
        if not all(isinstance(entry, str) for entry in wanted):
            raise InputError(f"shapes is a list of labels, kinds, globs or presets, not {shown(shapes)}")
        dataset = dataset.sel(shape=list(select_labels(wanted, labels, labels_of(dataset, "workload"))))
    if not dataset.sizes["shape"]:
        raise InputError("no shape to analyse: the dataset has none, or none was selected")
    return dataset


def configurations(dataset: xr.Dataset, baseline: str | None, candidate: str | None) -> tuple[str, str]:
    """Return the names of baseline and candidate."""
    known = labels_of(dataset, "config")
    if len(known) < 2:
        has = f"the dataset has {f'only {known[0]!r}' if known else 'none'}"
        raise InputError(f"a comparison takes two configurations, and {has}; abtune merge adds another")
    for role, name in (("baseline", baseline), ("candidate", candidate)):
        if name is not None and not isinstance(name, str):
            raise InputError(
                f"{role} is the name of a configuration, not {shown(name)}; there are: {', '.join(known)}"
            )
        if name is not None and name not in known:
            raise unknown_name("configuration", name, known)
    first = baseline if baseline is not None else next(name for name in known if name != candidate)
    second = candidate if candidate is not None else next(name for name in known if name != first)
    if first == second:
        raise InputError(f"baseline and candidate are both {first!r}; name two configurations")
    return first, second


def check_fraction(name: str, value: object, example: float, most: int = 1) -> float:
    """Return a fraction; refuse what is none, above all a level of 95."""
    number = math.nan
    if isinstance(value, Real):
        with contextlib.suppress(OverflowError):  # of a whole number that no float can be
            number = float(value)
    if not 0 < round(number, 12) < most:  # tests are at 1 - level, to as many digits
        raise InputError(f"{name} is a fraction between 0 and {most}, such as {example}, not {shown(value)}")
    return number


def check_whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """Return a whole number; refuse what is none, or beyond these bounds."""
    number = int(value) if isinstance(value, Integral) else least - 1
    if not least <= number <= (math.inf if most is None else most):
        bounds = f"from {least} on" if most is None else f"from {least} to {most:,}"
        raise InputError(f"{name} is a whole number {bounds}, not {shown(value)}")
    return number


def _check_name(kind: str, name: object, known: Sequence[str], more: str = "") -> None:
    if not isinstance(name, str) or name not in known:  # the nearest name is not the nearest meaning
        raise InputError(f"unknown {kind} {shown(name)}; there are: {', '.join(known)}{more}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Number of calls of each shape."""

    name: str  # what they are of, such as resnet50 or a file's name
    calls: Mapping[str, float]  # label to number of calls, positive
    not_covered: str  # what of the program they leave out, in words; empty if unknown
    strict: bool  # whether a label that the dataset lacks is a mistake


def built_in_weights(name: str) -> Weights:
    """Return the weights of a network that abtune knows."""
    if name not in BUILT_IN:
        raise unknown_name("weights", name, BUILT_IN)
    return BUILT_IN[name]


def as_weights(given: Weights | Mapping[str, float]) -> Weights:
    """Return weights; those of a plain mapping of labels to calls, which InputError checks, are strict."""
    if isinstance(given, Weights):
        return given
    if not isinstance(given, Mapping):
        raise InputError(f"weights is a mapping from shapes to numbers of calls, not {shown(given)}")
    for label, calls in given.items():
        known = isinstance(calls, int | float | np.integer | np.floating) and not isinstance(calls, bool)
        if not isinstance(label, str) or not known or not (math.isfinite(calls) and calls >= 0):
            raise InputError(f"weights: {calls!r} is not a number of calls of {label!r}")
    calls_of = {label: float(calls) for label, calls in given.items() if calls}
    if not calls_of:
        raise InputError("weights: no shape has a weight")
    return Weights(name="weights", calls=calls_of, not_covered="", strict=True)


# How often ResNet-50 calls each published convolution for one image of 224 x 224: K. He, X. Zhang, S. Ren and
# J. Sun, Deep residual learning for image recognition, CVPR 2016, table 1, with the stride in the first 1x1
# convolution of a stage. In the order of the published table.
_RESNET50 = (1, 1, 3, 4, 2, 1, 4, 4, 3, 1, 6, 6, 5, 1, 3, 3, 2)
_CONVOLUTIONS = tuple(shape.label for shape in PRESETS["tvm14009"] if shape.workload == "conv2d_nhwc")

BUILT_IN: Mapping[str, Weights] = {
    "resnet50": Weights(
        name="resnet50",
        calls=dict(zip(_CONVOLUTIONS, map(float, _RESNET50), strict=True)),
        not_covered="50 of the 53 convolutions have published shapes. The three strided projection "
        "shortcuts, pooling and the fully connected layer are not in the time",
        strict=False,
    )
}
