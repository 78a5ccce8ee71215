"""Options made from registries: how shapes are judged, and which sections a report has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import click

from abtune.commands.common.options import Registered, split_commas, together
from abtune.errors import InputError, unknown_name
from abtune.sections.section_registry import SECTIONS
from abtune.stats.estimand import ALLOWED_BEST_OF, Estimand
from abtune.stats.intervals.interval_methods import method_names, methods_for
from abtune.stats.testing.difference_tests import CORRECTIONS, default_correction

# What stands before the sections of the registry.
MAIN = {
    "report": "The result over all shapes, and their table.",
    "summary": "Only the result over all shapes.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a command line asks of a report."""

    main: str  # report, summary, or empty for neither
    sections: frozenset[str]  # fields in JSON of the sections below it
    explained: Sequence[str] | None  # shapes that the section explain is about

    @classmethod
    def asked(cls, names: Sequence[str], *, explained: Sequence[str] | None, weighted: bool) -> Self:
        """Return what names of sections and two other options ask for. Without any, it is the report."""
        for name in names:
            if name not in section_names():
                raise unknown_name("section", name, section_names())
        if "explain" in names and explained is None:
            raise InputError("the section explain takes a value; use --explain")
        main = next((name for name in MAIN if name in names), "")
        if not names and explained is None:
            main = "report"
        sections = {name.replace("-", "_") for name in names if name not in MAIN}
        sections |= {"overall"} if weighted else set()
        sections |= set() if explained is None else {"explain"}
        return cls(main=main, sections=frozenset(sections), explained=explained)


# The groups of the help; what is named nowhere is a method, or the help itself.
HEADINGS = ("What is judged", "What is shown", "Methods and help")
_JUDGED, _SHOWN, _METHODS = HEADINGS
_GROUPS = {
    **dict.fromkeys(("baseline", "candidate", "shapes", "level", "margin", "tolerance"), _JUDGED),
    **dict.fromkeys(("fail_on", "rng_seed"), _JUDGED),
    **dict.fromkeys(("format_", "output", "why", "show", "sort", "section", "explain", "weights"), _SHOWN),
}


class GroupedCommand(click.Command):
    """A command whose help has its options in groups, and the sections of a report."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups, with the sections below what is shown."""
        words = MAIN | {_option(name): entry.words for name, entry in SECTIONS.items() if name != "explain"}
        groups = {_JUDGED: [], _SHOWN: [], "Sections": [*words.items()], _METHODS: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record and isinstance(param, click.Option):  # from click 8.5 on, arguments have a record too
                groups[_GROUPS.get(str(param.name), _METHODS)].append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def section_names() -> list[str]:
    """Return the names that ``--section`` knows."""
    return [*MAIN, *map(_option, SECTIONS)]


def _option(section: str) -> str:
    return section.replace("_", "-")


def _complete_section(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - as click calls it
    """Return the sections that complete the last name of a list."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in section_names() if name.startswith(last)]


section_options = together(
    click.option(
        "--section",
        multiple=True,
        metavar="NAME,...",
        callback=split_commas,
        shell_complete=_complete_section,
        help="What the report has: names from the list below. Repeatable. [default: report]",
    ),
    click.option(
        "--explain",
        metavar="LABEL,...",
        help="In place of the report, the whole story of some shapes: seeds, tests, conditions.",
    ),
    click.option(
        "--weights",
        metavar="FILE",
        help="Add the time of a program: lines of label,weight, JSON, or the built-in resnet50.",
    ),
)


def _default_methods() -> str:
    """Return the names of the default intervals, for the help of an option."""
    names = [next(iter(methods_for(estimand))) for estimand in Estimand]
    pairs = next(iter(methods_for(next(iter(Estimand)), paired=True)))
    return f"[default: {names[0]}; for best-of {names[-1]}; for pairs {pairs}]"


choice_options = together(
    click.option(
        "--estimand",
        type=click.Choice([estimand.value for estimand in Estimand]),
        default=next(iter(Estimand)).value,
        show_default=True,
        help="What the boost compares. best-of:K is for those who tune K times and keep the best: "
        f"{ALLOWED_BEST_OF}.",
    ),
    click.option(
        "--method", type=Registered(method_names), help=f"How intervals are computed. {_default_methods()}"
    ),
    click.option(
        "--correction",
        type=Registered(lambda: CORRECTIONS),
        help="How p-values are corrected over the shapes: "
        f"{', '.join(f'{one.name} {one.hint}' for one in CORRECTIONS.values() if one.hint)}. "
        f"[default: {default_correction(paired=False).name}, or max-t for many shapes of 5 or 6 seeds; "
        f"for pairs {default_correction(paired=True).name}]",
    ),
)
