"""Conditions of timings, such as the machine: which differ between configurations, and which within each."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from abtune.dataset.provenance import CONFOUNDED
from abtune.text import listed, shortened, some_of

# How files of pytest-benchmark, pyperf, BenchmarkDotNet, asv, go test and nvbench name a processor or device.
_MACHINE = re.compile(
    r'"(?:brand_raw|cpu_model_name|ProcessorName|cpu)": ?"([^"\n]{1,200})"|^cpu: ([^\n]{1,200})|'
    r'"devices": ?\[\s*\{\s*"id": ?\d+,\s*"name": ?"([^"\n]{1,200})"',
    re.M,
)
# Settings that name what the times were measured on.
_DEVICE = ("machine", "device", "Device", "gpu", "GPU")
# So large a share of the runs of one configuration may be on other machines than those of another.
_UNEQUAL = 0.2
# How many runs of each configuration have each value of a setting.
_Runs: TypeAlias = Mapping[str, Counter[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What is to be said of the conditions of all timings."""

    unlike: tuple[str, ...]  # settings that differ between the configurations of a shape
    noise: tuple[str, ...]  # settings that differ within each configuration alike
    machine: str  # the machine or device of all timings; empty if unknown, or if they have several

    @property
    def notes(self) -> list[str]:
        """What the import says."""
        unlike = [f"{text}; differences may come from that, so run both alike" for text in self.unlike]
        noise = (f"{text}; their difference counts as noise, so import each by itself" for text in self.noise)
        return [*unlike, *noise]

    @property
    def caveats(self) -> list[str]:
        """What every report of the dataset says."""
        return [f"{CONFOUNDED} ({text}). Run both alike." for text in self.unlike]


def machine_named(text: str) -> dict[str, str]:
    """Return the machine that a file with this text names, as a setting; empty if it names none."""
    machine = _MACHINE.search(text)
    return {"machine": next(filter(None, machine.groups()))} if machine else {}


def conditions_of(cells: Iterable[tuple[str, str, Mapping[str, object]]]) -> Conditions:
    """Return what to say of cells, given by shape, configuration and settings."""
    runs: dict[str, dict[str, dict[str, Counter[str]]]] = {}  # by setting, shape and configuration
    machines = set()
    for shape, config, settings in cells:
        machines.add(next((str(settings[name]) for name in _DEVICE if name in settings), ""))
        for name, value in settings.items():
            known = runs.setdefault(name, {}).setdefault(shape, {})
            known.setdefault(config, Counter())[str(value)] += 1
    unlike, noise = list[str](), list[str]()
    for name, by_shape in runs.items():
        several = [shape for shape, known in by_shape.items() if any(map(_are_several, known.values()))]
        if differ := [shape for shape, known in by_shape.items() if _are_unlike(known.values())]:
            unlike.append(f"{name}{_of_shapes(differ, by_shape)}: {_by_value(by_shape[differ[0]])}")
        elif several:
            values = listed(map(shortened, dict.fromkeys(itertools.chain(*by_shape[several[0]].values()))))
            noise.append(f"{name}{_of_shapes(several, by_shape)}: {values} in each configuration")
    machine = machines.pop() if len(machines) == 1 else ""
    return Conditions(unlike=tuple(unlike), noise=tuple(noise), machine=machine)


def _by_value(runs: _Runs) -> str:
    """Say which value of a setting each configuration has, and in how many runs if it has several."""
    sides: dict[str, list[str]] = {}
    for config, values in runs.items():
        for value, n in values.items():
            some = config if len(values) == 1 else f"{n} of {values.total()} runs of {config}"
            sides.setdefault(shortened(value), []).append(some)
    texts = [f"{value} in {some_of(configs)}" for value, configs in sides.items()]
    return listed(texts if len(texts) < 4 else [*texts[:3], f"{len(texts) - 3} more"])


def _of_shapes(some: Sequence[str], known: Collection[str]) -> str:
    # All of several shapes need no names.
    return "" if 1 < len(some) == len(known) else f" of {some_of(some)}"


def _are_several(values: Counter[str]) -> bool:
    """Return whether the runs of a configuration share several values, so that the runs of one are alike."""
    return 1 < len(values) <= values.total() / 2


def _are_unlike(values: Collection[Counter[str]]) -> bool:
    """Return whether the runs of two configurations have too different shares of the values."""
    return any(
        sum(abs(a[value] / a.total() - b[value] / b.total()) for value in a | b) > 2 * _UNEQUAL
        for a, b in itertools.combinations(values, 2)
    )
