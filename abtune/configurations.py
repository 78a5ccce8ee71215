"""Ways to tune, as data: which design spaces, which build options, which search strategy.

A configuration is a value that can be compared, printed and sent to another process. It names things of
TVM but never imports it; :func:`abtune.measure.tvm.propose.search_context` gives the names their meaning.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from abtune.errors import InputError, TargetError, unknown_name

STRATEGIES = ("evolutionary", "replay-trace")


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One way to tune.

    Attributes
    ----------
    name : str
        The name in tables, datasets and file names: letters, digits, and ``._+-`` after the first.
    strategy : str
        Search strategy of MetaSchedule: ``"evolutionary"`` or ``"replay-trace"`` (random).
    strategy_options : mapping of str to number
        Arguments of the strategy that differ from its defaults, such as ``{"population_size": 1024}``.
    skipped_annotation : str
        Design spaces that carry this annotation are left out; empty to keep all.
    pass_config : mapping
        Options of ``tvm.transform.PassContext`` under which every candidate is built.
    space : str
        ``"module:function"`` that returns a ``SpaceGenerator`` for a target; empty for MetaSchedule's
        own rules of the target's kind.
    cost_model : str
        ``"module:function"`` that returns a ``CostModel`` for a random seed; empty for MetaSchedule's
        XGBoost model. In each iteration it is made anew, and learns all earlier trials.
    transfer : str
        ``"module:function"`` that takes over schedules of another configuration: it takes a trace as JSON
        and returns the traces of the variants to build; empty to take the trace as it is. It does not change
        what is searched.
    target_kind : str
        ``"cuda"`` or ``"llvm"`` if it can run on nothing else; empty for any.
    minimum_arch : int
        Smallest compute capability, such as 80; zero for any.
    """

    name: str
    strategy: str = "evolutionary"
    strategy_options: Mapping[str, float] = field(default_factory=dict)
    skipped_annotation: str = ""
    pass_config: Mapping[str, bool | int | str] = field(default_factory=dict)
    space: str = ""
    cost_model: str = ""
    transfer: str = ""
    target_kind: str = ""
    minimum_arch: int = 0

    def __post_init__(self) -> None:
        for entry in fields(self):  # the name first, by which it is named where another is wrong
            value, kind = getattr(self, entry.name), {"str": str, "int": int}.get(str(entry.type), dict)
            # True is an int in Python.
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
                whose = "" if entry.name == "name" else f" {self.name!r}"
                wrong = f"must be of type {kind.__name__}, not {type(value).__name__}"
                raise InputError(f"{entry.name} of configuration{whose} {wrong}")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}", self.name):
            raise InputError(
                f"{self.name!r} is no name of a configuration; use up to 64 letters, digits, ._+-"
            )
        if self.strategy not in STRATEGIES:
            raise unknown_name("search strategy", self.strategy, STRATEGIES)
        if self.cost_model and self.strategy != "evolutionary":
            raise InputError(f"configuration {self.name!r}: {self.strategy} asks no cost_model; leave it out")
        for field_name in ("space", "cost_model", "transfer"):
            value = getattr(self, field_name)
            if value and not re.fullmatch(r"[^:]+:[^:]+", value):
                raise InputError(
                    f"{field_name} of configuration {self.name!r} is no module:function: {value!r}"
                )
        self._require_values("strategy_options", (int, float))
        self._require_values("pass_config", (int, str))

    def _require_values(self, field_name: str, kinds: tuple[type, ...]) -> None:
        """Refuse what cannot be handed to another process or compared with a file."""
        for name, value in getattr(self, field_name).items():
            if not isinstance(name, str):
                raise InputError(f"{field_name} of configuration {self.name!r}: the name {name!r} is no str")
            if not isinstance(value, kinds):
                wanted = " or ".join(kind.__name__ for kind in kinds)
                raise InputError(f"{field_name} of configuration {self.name!r}: {name} is no {wanted}")
            if isinstance(value, float) and not math.isfinite(value):
                raise InputError(f"{field_name} of configuration {self.name!r}: {name} is {value}, no number")

    @property
    def space_is_foreign(self) -> bool:
        """Whether the design space is code of the user, which may write any trace."""
        return bool(self.space) and not self.space.startswith("abtune.")

    def settings(self) -> dict[str, Any]:
        """Return everything that decides what is tuned: equal settings, equal searches."""
        settings = asdict(self)
        # It changes no search, so that runs with another transfer may be in one dataset.
        del settings["transfer"]
        if not self.cost_model:  # earlier versions have no such setting
            del settings["cost_model"]
        return settings


# Synchronous copies to shared memory, and the default build.
MAINLINE = Configuration(
    name="mainline",
    skipped_annotation="software_pipeline_async_stages",
    transfer="abtune.traces:synchronous",
    target_kind="cuda",
    minimum_arch=80,
)
# Asynchronous copies to shared memory in software pipelines (cp.async).
ASYNC = Configuration(
    name="async",
    pass_config={"tirx.use_async_copy": True},
    transfer="abtune.traces:asynchronous",
    target_kind="cuda",
    minimum_arch=80,
)
EVOLUTIONARY = Configuration(name="evolutionary", strategy="evolutionary")
RANDOM = Configuration(name="random", strategy="replay-trace")
# Random sampling of a smaller design space, whose innermost tiles have 16 floats.
VECTOR_TILES = Configuration(
    name="vector-tiles",
    strategy="replay-trace",
    space="abtune.measure.tvm.cpu_spaces:vector_tiles",
    target_kind="llvm",
)

CONFIGURATIONS: Mapping[str, Configuration] = {
    config.name: config for config in (MAINLINE, ASYNC, EVOLUTIONARY, RANDOM, VECTOR_TILES)
}

# Baseline and candidate of a sweep that names none.
DEFAULT_PAIR: Mapping[str, tuple[str, str]] = {
    "cuda": ("mainline", "async"),
    "llvm": ("random", "vector-tiles"),
}


def find_configuration(name: str) -> Configuration:
    """Return a configuration by its name here, or as ``module:attribute``."""
    if name in CONFIGURATIONS:
        return CONFIGURATIONS[name]
    if ":" not in name:
        raise unknown_name("configuration", name, [*CONFIGURATIONS, "module:attribute"])
    value = import_attribute(name)
    if not isinstance(value, Configuration):
        raise InputError(f"{name} is of type {type(value).__name__}, not abtune.configurations.Configuration")
    return value


def import_attribute(reference: str) -> Any:
    """Import ``module:attribute``; the working directory is searched, too."""
    module_name, _, attribute = reference.partition(":")
    absent = object()
    if module_name[:1] in ("", ".") or "/" in module_name:
        raise InputError(f"cannot import {reference!r}: write mine:wide for `wide` in mine.py of this folder")
    try:
        with _working_directory_first():
            module = importlib.import_module(module_name)
        value = getattr(module, attribute, absent)  # a module's own __getattr__ may raise
    except KeyboardInterrupt:
        raise
    # A script that is imported may exit, or raise what is no Exception.
    except BaseException as error:
        lines = str(error).splitlines() or [""]
        kind = "" if isinstance(error, ImportError) else f"{type(error).__name__}: "
        raise InputError(f"cannot import {reference!r}: {kind}{lines[0]}{_line_of(error)}") from error
    if value is absent:
        raise InputError(f"module {module_name!r} has no attribute {attribute!r}")
    return value


def require_module(reference: str) -> None:
    """Refuse ``module:attribute`` if there is no such module; it is looked for, and not imported."""
    name = reference.partition(":")[0].partition(".")[0]
    with _working_directory_first():
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            raise InputError(f"cannot import {reference!r}: No module named {name!r}")


def _line_of(error: BaseException) -> str:
    """Return the line at which importing a module failed; a syntax error says it itself."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.name == "<module>"]
    if not lines or isinstance(error, SyntaxError):
        return ""
    return f" ({Path(lines[-1].filename).name}, line {lines[-1].lineno})"


@contextlib.contextmanager
def _working_directory_first() -> Iterator[None]:
    """Import from the working directory first; leave it last, where its files hide no library.

    A module that changes the working directory or a standard stream changes them for its import alone.
    """
    try:
        here = str(Path.cwd())
    except FileNotFoundError:  # it is gone, and so is all that could be imported from it
        yield
        return
    sys.path.insert(0, here)
    streams = contextlib.redirect_stdout(sys.stdout), contextlib.redirect_stderr(sys.stderr)
    try:
        with contextlib.chdir(here), streams[0], streams[1]:
            yield
    finally:
        sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)


def require_runnable(config: Configuration, *, kind: str, arch: int) -> None:
    """Refuse a configuration that the target cannot run."""
    instead = " and ".join(DEFAULT_PAIR.get(kind, DEFAULT_PAIR["llvm"]))
    if config.target_kind and config.target_kind != kind:
        raise TargetError(
            f"configuration {config.name!r} needs a {config.target_kind} target; use {instead} here"
        )
    if arch < config.minimum_arch:
        raise TargetError(
            f"{config.name!r} needs compute capability sm_{config.minimum_arch} or newer; "
            "use random and evolutionary"
        )
