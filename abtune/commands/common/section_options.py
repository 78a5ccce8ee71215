"""Options made from registries: how shapes are judged, and which sections a report has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.common.options import Registered, split_commas, together
from abtune.errors import InputError, unknown_name
from abtune.sections.section_registry import SECTIONS, SectionKind
from abtune.stats.estimand import ALLOWED_BEST_OF, Estimand
from abtune.stats.intervals.interval_methods import method_names, methods_for
from abtune.stats.testing.difference_tests import (
    CORRECTIONS,
    default_correction,
)

if TYPE_CHECKING:
    import xarray as xr


# What stands before the sections of the registry.
MAIN = {
    "report": "The result over all shapes, and their table.",
    "summary": "Only the result over all shapes.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The sections that a command line asks for."""

    values: Mapping[str, Any]  # values of the options of all sections, by name
    kinds: tuple[SectionKind, ...]  # the sections, in the order of the report
    main: str  # what of the main report stands before them: report, summary, or empty for nothing

    def inputs(self) -> list[str]:
        """Return the files that options of sections name."""
        options = [option for section in SECTIONS.values() for option in section.options]
        return [value for option in options if (value := self.values[option.name]) is not None]

    @property
    def names(self) -> set[str]:
        """Names of the sections."""
        return {kind.name for kind in self.kinds}

    def with_those_of(self, dataset: xr.Dataset) -> tuple[SectionKind, ...]:
        """Return the sections, and those that the report of a dataset has without being asked."""
        if self.main != "report":
            return self.kinds
        return tuple(
            kind for kind in SECTIONS.values() if kind in self.kinds or kind.shown_with in dataset.variables
        )


# The groups of the help; what is named nowhere is a method, or the help itself.
HEADINGS = ("What is judged", "What is shown", "Methods and help")
_JUDGED, _SHOWN, _METHODS = HEADINGS
_GROUPS = {
    **dict.fromkeys(("baseline", "candidate", "shapes", "level", "margin", "tolerance"), _JUDGED),
    **dict.fromkeys(("fail_on", "rng_seed"), _JUDGED),
    **dict.fromkeys(("format_", "output", "why", "show", "sort", "section"), _SHOWN),
}


class SectionCommand(click.Command):
    """A command with the options of all sections, which it receives together as ``wanted``."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups, and below them the sections."""
        groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        sections = {param.name for param in _section_params()}
        for param in self.get_params(ctx):
            record, name = param.get_help_record(ctx), str(param.name)
            if record and isinstance(param, click.Option):  # from click 8.5 on, arguments have a record too
                groups[_SHOWN if name in sections else _GROUPS.get(name, _METHODS)].append(record)
        words = [*MAIN.items(), *((kind.option, kind.help) for kind in SECTIONS.values() if not kind.metavar)]
        groups = {_JUDGED: groups[_JUDGED], _SHOWN: groups[_SHOWN], "Sections": words, **groups}
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options, then the options of all sections."""
        *own, last = super().get_params(ctx)  # the last one is --help
        return [*own, *_section_params(), last]

    def invoke(self, ctx: click.Context) -> Any:
        """Hand the values of the sections' options on as one."""
        names = [param.name for param in _section_params() if param.name]
        values = {name: ctx.params.pop(name) for name in names}
        ctx.params["wanted"] = _wanted(values)
        return super().invoke(ctx)


def section_names() -> list[str]:
    """Return the names that ``--section`` knows."""
    return [*MAIN, *(kind.option for kind in SECTIONS.values())]


def _wanted(values: dict[str, Any]) -> Wanted:
    """Return the sections. Without ``--section`` this is the report, unless an option stands in its place."""
    asked = values.pop("section")
    for name in asked:
        if name not in section_names():
            raise unknown_name("section", name, section_names())
    for kind in SECTIONS.values():
        if kind.metavar and kind.option in asked and not values[kind.name]:
            raise InputError(
                f"the section {kind.option} is of one {kind.metavar.lower()}; use --{kind.option}"
            )
    kinds = tuple(kind for kind in SECTIONS.values() if kind.option in asked or kind.is_implied(values))
    main = next((name for name in MAIN if name in asked), "")
    if not asked and not any(kind.metavar for kind in kinds):
        main = "report"
    return Wanted(values=values, kinds=kinds, main=main)


def _section_params() -> list[click.Parameter]:
    params: list[click.Parameter] = [
        click.Option(
            ["--section"],
            multiple=True,
            metavar="NAME,...",
            callback=split_commas,
            shell_complete=_complete_section,
            help="What the report has: names from the list below. Repeatable. [default: report]",
        )
    ]
    for kind in SECTIONS.values():
        own = [(kind.option, kind.metavar, kind.help)] if kind.metavar else []
        further = [(option.name.replace("_", "-"), option.metavar, option.help) for option in kind.options]
        params += [
            click.Option([f"--{name}"], metavar=metavar, help=words) for name, metavar, words in own + further
        ]
    return params


def _complete_section(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - as click calls it
    """Return the sections that complete the last name of a list."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in section_names() if name.startswith(last)]


def _default_methods() -> str:
    """Return the names of the default intervals, for the help of an option."""
    names = [next(iter(methods_for(estimand))) for estimand in Estimand]
    pairs = next(iter(methods_for(next(iter(Estimand)), paired=True)))
    return f"[default: {names[0]}; of best-of {names[-1]}; of pairs {pairs}]"


choice_options = together(
    click.option(
        "--estimand",
        type=click.Choice([estimand.value for estimand in Estimand]),
        default=next(iter(Estimand)).value,
        show_default=True,
        help="What the boost compares. best-of:K is for those who tune K times and keep the best; "
        f"{ALLOWED_BEST_OF}.",
    ),
    click.option("--method", type=Registered(method_names), help=f"The interval. {_default_methods()}"),
    click.option(
        "--correction",
        type=Registered(lambda: CORRECTIONS),
        help="The correction over the shapes: "
        f"{', '.join(f'{one.name} {one.hint}' for one in CORRECTIONS.values() if one.hint)}. "
        f"[default: {default_correction(paired=False).name}; "
        f"of pairs {default_correction(paired=True).name}]",
    ),
)
