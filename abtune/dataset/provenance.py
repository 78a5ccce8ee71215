"""How a dataset came about, as far as it says so itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import xarray as xr

from abtune.dataset.schema import RunStatus, TrialStatus, labels_of, runs_of
from abtune.text import count

T = TypeVar("T")
# Attributes of a dataset whose winners were timed again: when, and the device of the searches.
MEASURED, SEARCHED_ON = "measured_again", "searched_on"
# Attribute with a hash of each program and design space that code of the user made for a sweep.
OWN_CODE = "own_code"
# Attribute with sentences on what else differs between the configurations, as an import or a merge saw it.
CAVEATS = "caveats"
# Such a sentence begins so if it puts every number of a report in doubt.
CONFOUNDED = "More differs than the configuration"


def settings(attrs: Mapping[Any, Any]) -> Mapping[str, Any]:
    """Return the settings of the sweep that made a dataset, by its attributes; empty if it does not say."""
    known = parsed(attrs, "settings", dict)
    # Earlier versions launched all calls one by one, and did not say so.
    return {"launched_by": "stream", **known} if known else known


def how_timed(dataset: xr.Dataset) -> str:
    """Return the end of a sentence on how the winners were timed; empty if in the usual way."""
    known = settings(dataset.attrs)
    graphs = ", by CUDA graphs" if known.get("launched_by") == "graph" else ""
    return graphs + (", with cold caches" if known.get("cache") == "cold" else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caveat:
    """What else differs between configurations, as an import or a merge saw it."""

    says: str
    of: tuple[str, ...] = ()  # the two configurations; empty for all of the dataset


def caveats_of(attrs: Mapping[Any, Any]) -> list[Caveat]:
    """Return what else differs between the configurations; a text alone is about all of them."""
    caveats, recorded = [], decoded(attrs.get(CAVEATS))
    for one in recorded if isinstance(recorded, list) else [recorded]:
        about = {"says": one, "of": []} if isinstance(one, str) else one if isinstance(one, dict) else {}
        says, of = about.get("says"), about.get("of")
        if isinstance(says, str) and isinstance(of, list):
            caveats.append(Caveat(says=says, of=tuple(map(str, of))))
    return caveats


def between_each_two(
    configs: Sequence[str], differ: Callable[[Sequence[str]], Iterable[str]]
) -> Iterator[Caveat]:
    """Yield what differs between each two configurations, because a report is of two."""
    pairs, of_texts = list(combinations(configs, 2)), dict[str, list[tuple[str, str]]]()
    for pair in pairs:
        for text in differ(pair):
            of_texts.setdefault(text, []).append(pair)
    for text, of in of_texts.items():
        # Of 60 configurations there are 1,770 pairs: what holds for all is stored once.
        yield from (Caveat(says=text, of=pair) for pair in ([()] if len(of) == len(pairs) else of))


def with_caveats(caveats: Iterable[Caveat]) -> dict[str, str]:
    """Return the attribute that holds caveats, each once; none without any."""
    known = [{"says": one.says, "of": one.of} if one.of else one.says for one in dict.fromkeys(caveats)]
    return {CAVEATS: json.dumps(known)} if known else {}


def configurations_of(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the meaning of each configuration, by its name; empty if unknown."""
    meanings = (one for one in parsed(attrs, "configurations", list) if isinstance(one, dict))
    return {meaning["name"]: meaning for meaning in meanings if isinstance(meaning.get("name"), str)}


def parsed(attrs: Mapping[Any, Any], name: str, kind: type[T]) -> T:
    """Return the list or object that an attribute holds; an empty one if it holds no value of this kind."""
    value = decoded(attrs.get(name))
    return value if isinstance(value, kind) else kind()


def decoded(value: Any) -> Any:
    """Return the list or object that JSON text stands for, and any other attribute as it is."""
    try:
        document = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return value
    return document if isinstance(document, list | dict) else value


def contains_space(dataset: xr.Dataset, wider: str, narrower: str) -> bool:
    """Return whether one design space contains another, as far as the dataset says."""
    known = configurations_of(dataset.attrs)
    if not {wider, narrower} <= known.keys():
        return False
    outer, inner = known[wider], known[narrower]
    same = all(outer.get(key) == inner.get(key) for key in ("space", "strategy"))
    return same and bool(inner.get("skipped_annotation")) and not outer.get("skipped_annotation")


def hardware(dataset: xr.Dataset) -> str:
    """Name the devices that timed the winners, or the GPU of a published table; empty if unknown."""
    named = set(dataset["device"].values.ravel().tolist()) - {""} if "device" in dataset else set()
    if named:
        return ", ".join(sorted(map(str, named)))
    return str(dataset.attrs.get("gpu") or dataset.attrs.get("device") or "")


def trials(dataset: xr.Dataset) -> int:
    """Return the trials of a run: as set, as published, or the longest history; 0 if unknown."""
    for known in (settings(dataset.attrs).get("trials"), dataset.attrs.get("trials")):
        if isinstance(known, int | np.integer) and known > 0:
            return int(known)
    return int(dataset.sizes.get("trial", 0))


def trials_made(dataset: xr.Dataset, config: str) -> npt.NDArray[np.int64]:
    """Return the number of trials of each complete run, shape (shapes, seeds); 0 for other runs."""
    complete = runs_of(dataset, "run_status", config) == RunStatus.COMPLETE
    if "trial_status" not in dataset:
        return np.zeros_like(complete, dtype=np.int64)
    made = np.count_nonzero(runs_of(dataset, "trial_status", config) != TrialStatus.NOT_RUN, axis=-1)
    return np.where(complete, made, 0)


def all_trials_made(dataset: xr.Dataset) -> list[int]:
    """Return the number of trials of each complete run of any configuration, without runs that made none."""
    made = np.concatenate([trials_made(dataset, config) for config in labels_of(dataset, "config")])
    return made[made > 0].tolist()


def tuner(dataset: xr.Dataset) -> str:
    """Name the version of TVM; empty if unknown."""
    version, commit = (str(dataset.attrs.get(name) or "") for name in ("tvm_version", "tvm_commit"))
    return f"TVM {version}" if version else f"TVM at commit {commit[:10]}" if commit else ""


def summary(dataset: xr.Dataset) -> str:
    """Return the origin of a dataset, with the day of its timings."""
    return origin(dataset, measured(dataset)[:10])


def origin(dataset: xr.Dataset, day: str = "") -> str:
    """Return where the numbers come from, in one line: device, version of TVM, day if given, searches."""
    most = trials(dataset)
    least = min([*all_trials_made(dataset), most])
    budget = f"{f'{least:,} to ' * (least < most)}{most:,} trials a run" if most else ""
    devices = hardware(dataset).replace(", ", " and ")
    parts = (devices, tuner(dataset), day, *_searches(dataset), budget)
    return ", ".join(filter(None, parts))


def measured(dataset: xr.Dataset) -> str:
    """Return when the winners were timed, ISO 8601; empty if unknown."""
    return str(dataset.attrs.get(MEASURED) or dataset.attrs.get("created") or "")


def _searches(dataset: xr.Dataset) -> Iterator[str]:
    """Yield when and where the winners were found, if they were timed again."""
    if MEASURED in dataset.attrs:
        device, day = (str(dataset.attrs.get(name) or "") for name in (SEARCHED_ON, "created"))
        sources = parsed(dataset.attrs, "sources", list)
        where = f" on {device.replace(', ', ' and ')}" if device and device != hardware(dataset) else ""
        origin = day[:10] or (count(len(sources), "dataset") if sources else "another day")
        yield f"winners of {origin}{where}"


def of_searches(dataset: xr.Dataset) -> bool:
    """Return whether the times are those by which the searches picked their winners."""
    return bool(dataset.attrs.get("latency_source") == "search")


def of_throughputs(dataset: xr.Dataset) -> bool:
    """Return whether the times follow from throughputs of unknown work: only their ratios mean something."""
    return bool(dataset.attrs.get("latency_source") == "throughput")
