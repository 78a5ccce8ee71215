"""Patterns over paths: many shapes, configurations and seeds in one command.

In ``{config}_outputs/{shape}_t=5000/*.txt`` the names in braces say what a piece of the path means, and ``*``
and ``?`` stand for any characters and any one. None of them stands for a ``/``.
"""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from abtune.errors import InputError, unknown_name
from abtune.ingest.sources import Source, check_once, natural

FIELDS = ("config", "shape", "seed")
_WORDS = re.compile(r"(\{\w*\}|\*|\?)", re.ASCII)


def find_matching(pattern: str) -> tuple[Source, ...]:
    """Return the sources whose paths match a pattern, with what their paths say of them."""
    words = _WORDS.split(pattern)
    fields = [word[1:-1] for word in words if word.startswith("{") and _WORDS.fullmatch(word)]
    _check_fields(pattern, fields)
    wildcards = (_as_wildcard(word) for word in words)
    paths = sorted(glob.glob("".join(wildcards)), key=natural)  # noqa: PTH207 - the pattern may be absolute
    sources = tuple(_numbered(paths, words))
    if not sources:
        raise InputError(f"no file or folder matches --pattern {pattern!r}")
    check_once(source.path for source in sources)
    return sources


def _check_fields(pattern: str, fields: list[str]) -> None:
    for field, count in Counter(fields).items():
        if field not in FIELDS:
            raise unknown_name("field of --pattern", field, FIELDS)
        if count > 1:
            raise InputError(f"--pattern has {{{field}}} {count} times; write * for all but one")
    if not fields:
        raise InputError(
            f"--pattern {pattern!r} has no field; write {{config}}, {{shape}} or {{seed}} where paths differ"
        )


def _as_wildcard(word: str) -> str:
    if word in {"*", "?"}:
        return word
    return "*" if _WORDS.fullmatch(word) else glob.escape(word)


def _as_expression(word: str, more: str) -> str:
    """Return the regular expression of a word; ``more`` makes it take as little as it can, or is empty."""
    if word == "?":
        return "[^/]"
    if word == "*":
        return f"[^/]*{more}"
    if word == "{seed}":
        return rf"(?P<seed>\d{{1,18}}{more})"
    return f"(?P<{word[1:-1]}>[^/]+{more})" if _WORDS.fullmatch(word) else re.escape(word)


def _numbered(paths: list[str], words: list[str]) -> Iterator[Source]:
    """Yield the sources; without a seed in their paths, the files of one configuration and shape count up."""
    most, least = (
        re.compile("".join(_as_expression(word, more) for word in words), re.ASCII | re.DOTALL)
        for more in ("", "?")
    )
    counts: Counter[tuple[str, str]] = Counter()
    for path in paths:
        match, other = most.fullmatch(path), least.fullmatch(path)
        if match is None or other is None:  # a seed that is no number
            continue
        fields = match.groupdict()
        if fields != other.groupdict():
            raise InputError(
                f"{path} matches --pattern in two ways, {_shown(fields)} and {_shown(other.groupdict())}; "
                "write more of the path out"
            )
        config, shape = fields.get("config", ""), fields.get("shape", "")
        yield Source(
            config=config,
            shape=shape,
            seed=int(fields["seed"]) if "seed" in fields else counts[config, shape],
            seed_in_path="seed" in fields,
            path=Path(path),
        )
        counts[config, shape] += 1


def _shown(fields: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in fields.items())
