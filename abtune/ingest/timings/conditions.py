"""What stands beside times: conditions, such as the machine, and columns that tell kinds of runs apart."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from abtune.dataset.provenance import CONFOUNDED
from abtune.ingest.table_columns import RUNS, SHAPES
from abtune.text import listed, shortened, some_of

# How files of pytest-benchmark, pyperf, BenchmarkDotNet, asv, go test and nvbench name a processor or device.
_PROCESSOR = re.compile(
    r'"(?:brand_raw|cpu_model_name|ProcessorName|cpu)": ?"([^"\n]{1,200})"|^cpu: ([^\n]{1,200})|'
    r'"devices": ?\[\s*\{\s*"id": ?\d+,\s*"name": ?"([^"\n]{1,200})"',
    re.M,
)
# Columns that are other names of configurations.
_NAMES_CONFIG = re.compile(
    r"commit.*|(git[ _-]?)?(sha|hash|rev|revision|branch|ref|tag|id)|config.*|impl(ementation)?|backend|"
    r"algo(rithm)?|author|variant|build|version|label|"
    r"description|comment|note|url|path|file(name)?|command|args|flags",
    re.IGNORECASE,
)
# Columns whose decimals are no measured numbers.
_VERSION = re.compile(r".*version|python|jdk|cuda|cudnn|rocm|(py)?torch|triton|tvm", re.IGNORECASE)
# In other columns, decimals and percentages were measured. Whole numbers may have been set, or counted.
_MEASURED = re.compile(r"\d*\.\d+(e[-+]?\d+)? ?%?|\d+(e[-+]?\d+| ?%)", re.IGNORECASE)
_NUMBER = re.compile(rf"{_MEASURED.pattern}|\d+", re.IGNORECASE)
# A container is called by twelve digits that are new in each run, and say nothing of its machine.
_CONTAINER = re.compile("[0-9a-f]{12}")
# Settings that name what the times were measured on.
_DEVICE = ("machine", "device", "Device", "gpu", "GPU")
# Columns that say where a time was measured, which should be the same for both sides.
MACHINE = re.compile(
    r"(.{1,80}\.)?(gpu|cpu|device|host|machine|node|hardware)([ _-]?(name|model|type|id))?", re.IGNORECASE
)
# Columns of settings that both sides should have alike, too. They may differ between the repeats of a run.
SETTING = re.compile(
    r"(data[ _-]?type|dtype|precision|batch)|((gpu|cuda|nvidia)[ _-]?)?driver([ _-]?version)?|"
    r"power[ _-]?(limit|cap)|(runner|worker|instance|server|agent)([ _-]?(name|type|id))?",
    re.IGNORECASE,
)
# Words that count repeats, such as r1. With more words, a column says rather when a line was made.
_COUNTED = re.compile(r"(r|run|rep|repeat|t|trial|try|i|iter|iteration|s|sample)?[\W_]*[\d.]+", re.IGNORECASE)
# A column with this many values tells no kinds of runs apart, unless its name says so.
MOST_KINDS = 20
_WARM_UP = re.compile("warm(ing)?[ _-]?up", re.IGNORECASE)
# So large a share of the runs of one configuration may be on other machines than those of another.
_UNEQUAL = 0.2
# How many runs of each configuration have each value of a setting.
_Runs: TypeAlias = Mapping[str, Counter[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What is to be said of the conditions of all timings."""

    notes: tuple[str, ...]  # of the import: settings that differ between configurations, or within each
    caveats: tuple[str, ...]  # what every report of the dataset says of the former
    machine: str  # the machine or device of all timings; empty if unknown, or if they have several


def machine_named(text: str) -> dict[str, str]:
    """Return the machine that a file with this text names, as a setting; empty if it names none."""
    machine = _PROCESSOR.search(text)
    return {"machine": next(filter(None, machine.groups()))} if machine else {}


def said_in(about: object, names: Sequence[str]) -> dict[str, str]:
    """Return what an object of JSON says under these names; the name of a container says nothing."""
    values = about if isinstance(about, dict) else {}
    known = {name: str(values[name]) for name in names if values.get(name) is not None}
    return {name: value for name, value in known.items() if not _CONTAINER.fullmatch(value)}


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
        differ = [shape for shape, known in by_shape.items() if _are_unlike(known.values())]
        if differ and not _are_told(by_shape[differ[0]]):
            unlike.append(f"{name}{_of_shapes(differ, by_shape)}: {_by_value(by_shape[differ[0]])}")
        elif several and not differ:
            values = listed(map(shortened, dict.fromkeys(itertools.chain(*by_shape[several[0]].values()))))
            noise.append(f"{name}{_of_shapes(several, by_shape)}: {values} in each configuration")
    alike = (f"{text}; differences may come from that, so run both alike" for text in unlike)
    within = (f"{text}; their difference counts as noise, so import each by itself" for text in noise)
    caveats = tuple(f"{CONFOUNDED} ({text}). Run both alike." for text in unlike)
    machine = machines.pop() if len(machines) == 1 else ""
    return Conditions(notes=(*alike, *within), caveats=caveats, machine=machine)


def about_columns(cells: Iterable[tuple[str, int, Mapping[str, str]]]) -> Iterator[str]:
    """Yield which columns of a table, or values of a runner's file, tell the configurations apart.

    Cells are given by configuration and number of timings. A column that repeats the names of configurations,
    or has measured numbers, says nothing new.
    """
    runs: dict[str, dict[str, Counter[str]]] = {}  # by column and configuration
    sizes: Counter[str] = Counter()
    for config, timings, others in cells:
        sizes[config] += timings
        for name, value in others.items():
            runs.setdefault(name, {}).setdefault(config, Counter())[value] += timings
    # Where no configuration has a second timing, nothing shows that a whole number stays as it was set.
    measured = _MEASURED if max(sizes.values(), default=0) > 1 else _NUMBER
    for name, values in runs.items():
        known = {config: next(iter(own)) for config, own in values.items() if len(own) == 1}
        is_whole = {config: own.total() for config, own in values.items()} == sizes
        is_measured = any(map(measured.fullmatch, known.values())) and not _VERSION.fullmatch(name)
        tells_apart = is_whole and len(known) == len(values) and len({*known.values()}) > 1
        if tells_apart and not (_are_told(values) or is_measured or _NAMES_CONFIG.fullmatch(name)):
            yield f"{name}: {_by_value(values)}; unless you compare that, differences may come from it"


def _by_value(runs: _Runs) -> str:
    """Say which value of a setting each configuration has, and in how many runs if it has several."""
    sides: dict[str, list[str]] = {}
    for config, values in runs.items():
        for value, n in values.items():
            some = config if len(values) == 1 else f"{n} of {values.total()} runs of {config}"
            sides.setdefault(shortened(value), []).append(some)
    whole = all(len(values) == 1 for values in runs.values())
    texts = [
        f"{value} in {some_of(configs)}" if whole else f"{value} {listed(f'in {side}' for side in configs)}"
        for value, configs in sides.items()
    ]
    return listed(texts, most=3)


def _of_shapes(some: Sequence[str], known: Collection[str]) -> str:
    # All of several shapes need no names.
    return "" if 1 < len(some) == len(known) else f" of {some_of(some)}"


def _are_told(values: _Runs) -> bool:
    """Return whether the names of configurations say their values, as fp16 and fp32 do."""
    pairs = [(config.casefold(), next(iter(own)).casefold()) for config, own in values.items()]
    single = all(len(own) == 1 for own in values.values())
    # A short name is in many words.
    return single and all(value in config or (len(config) > 2 and config in value) for config, value in pairs)


def _are_several(values: Counter[str]) -> bool:
    """Return whether the runs of a configuration share several values, so that the runs of one are alike."""
    return 1 < len(values) <= values.total() / 2


def _are_unlike(values: Collection[Counter[str]]) -> bool:
    """Return whether the runs of two configurations have too different shares of the values."""
    both = sum(values, Counter[str]())
    if len(both) > both.total() / 2 and all(len(own) > 1 for own in values):
        return False  # nearly every run has a value of its own, as of rented machines
    return any(
        sum(abs(a[value] / a.total() - b[value] / b.total()) for value in a | b) > 2 * _UNEQUAL
        for a, b in itertools.combinations(values, 2)
    )


def splitting_words(name: str, counts: Sequence[tuple[str | None, Mapping[str, int]]]) -> Sequence[str]:
    """Return what a column says of one run, if that tells its times apart and the same of most runs.

    ``counts`` has for each run its shape, and how many times stand beside which value.
    """
    is_name = name.casefold() in SHAPES
    split = [(shape, some) for shape, some in counts if 1 < len(some) < MOST_KINDS + is_name and all(some)]
    words = sorted(split[0][1]) if split else []
    if are_numbers := all(map(_COUNTED.fullmatch, words)):
        numbers = sorted(float(match[0]) for word in words if (match := re.search(r"\d+(\.\d*)?$", word)))
        steps = {round(high - low, 9) for low, high in itertools.pairwise(numbers)}
        is_count = steps <= {1} or (len(steps) == 1 and numbers[0] == 0 and len(numbers) > 2)
        if is_count or name.casefold() in RUNS:
            return []  # they count repeats: 1, 2, 3, or 0, 100, 200
    # Sizes come equally often in each run of a shape, and measured numbers, such as a clock, do not.
    kinds = Counter((shape, frozenset(some.items() if are_numbers else some)) for shape, some in split)
    # The most frequent of each shape, which is the last one here.
    usual = {shape: number for (shape, _), number in reversed(kinds.most_common()) if number > 1}
    are_told = is_name or any(map(_WARM_UP.search, words))
    is_alone = are_told or (MACHINE.fullmatch(name) is not None and not are_numbers)
    alike = len(split) if is_alone else sum(usual.values())
    few = len({word for _, some in split for word in some}) < MOST_KINDS
    return words if (alike > 0.75 * len(counts) and few) or (are_told and alike) else []
