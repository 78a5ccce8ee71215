"""The facts that a session of ``abtune sweep`` records about itself in its dataset."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from abtune.commands.common.workplace_options import NAMES

if TYPE_CHECKING:
    from abtune.measure.plan.plan import Plan
    from abtune.measure.plan.target import TargetFacts

# Where and how fast a sweep is done; these options do not change what it does.
_CIRCUMSTANCES = ("out", "dry_run", "time_limit", *NAMES)


def session_facts(plan: Plan, facts: TargetFacts, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about this session for the dataset's attributes."""
    from abtune.version import __version__

    return {
        "title": f"{plan.configs[1].name} against {plan.configs[0].name}",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": _command(options),
        "device": facts.devices[0],
        "target": facts.target,
        "abtune_version": __version__,
        **{f"{name}_version": version for name, version in facts.versions.items()},
    }


def _command(options: Mapping[str, Any]) -> str:
    """Return the command of this session, without the circumstances."""
    # Where an earlier session had other shapes or fewer seeds, this command alone does not make the dataset.
    words = ["abtune", "sweep"]
    for name, value in options.items():
        if name in _CIRCUMSTANCES or value in (None, (), False, ""):
            continue
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        else:
            words.append(f"{option}={','.join(value) if isinstance(value, tuple) else value}")
    return shlex.join(words)
