"""The words of abtune are those of a textbook: messages, docstrings and documents avoid a list of phrases."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "abtune").rglob("*.py"))
SCRIPTS = sorted((ROOT / "analysis").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]

# What is not written, as a regular expression, and what is written instead.
PLAIN = {
    r"(seeds?|runs?|trials|searches|[\d,]+) a side": "per side, or per configuration",
    r"\bso many\b": "this many, or the number",
    r"\bequally many\b": "the same number of",
    r"\bfor that of\b": "instead of the",
    r"\bof which they\b": "a sentence of its own",
    r"\b(hang|hangs|hung) on\b": "depend on",
    r"\bholds? (zero|the truth)\b": "include zero, or the true value",
    r"\bscatters?\b": "spread (noun), or vary (verb)",
    r"\bsittings?\b": "session",
    r"\blikeness\b": "similarity, or what agrees",
    r"\bfar side\b": "the other configuration",
    r"\bthe house (holds|has)\b": "abtune has",
    r"\btakes? the more\b": "takes longer",
    r"\bas many again\b": "grown by half, or doubled",
    r"\bneither a difference nor\b": "Too noisy to tell.",
    r"\bin one case of\b": "1 in 20, or the share in percent",
    r"\bfrom which on\b": "above which",
    r"\bneed not\b": "does not have to",
    r"\bone's own\b": "your own",
    r"\bwould bear\b": "could have",
    r"\b(not )?to be expected\b": "we expect, or we do not expect",
    r"\bwhat (became|becomes) of\b": "what happened to, or the outcome of",
    r"\bcomes? of it\b": "happens",
    r"\bshould it\b": "if it",
    r"\b(hence|thus|thereof|wherein|whence|albeit|whilst|lest)\b": "so, in it, although, while",
    r"\b(shall|ought)\b": "will, or must",
    r"\bin order to\b": "to",
    r"\b(utilize|leverage|facilitate)s?\b": "use, or help",
    r"\bto no avail\b|\bin vain\b": "without success",
    r"\bat one go\b": "at once",
}
BANNED = [(re.compile(phrase, re.I), instead) for phrase, instead in PLAIN.items()]

# Names that say nothing. A `part` is one of a page, in modules that know the type `Part`.
EMPTY_NAMES = {"at", "found", "place", "each", "part"}


def empty_names(path: Path) -> list[str]:
    """Return a line about each variable or parameter of a module whose name says nothing."""
    source = path.read_text(encoding="utf-8")
    banned = EMPTY_NAMES - ({"part"} if re.search(r"\bPart\b", source) else set())
    nodes = list(ast.walk(ast.parse(source)))
    bodies = [node.body for node in nodes if isinstance(node, ast.ClassDef)]
    fields = {id(line.target) for body in bodies for line in body if isinstance(line, ast.AnnAssign)}
    named = [
        (node.lineno, node.arg if isinstance(node, ast.arg) else node.id)
        for node in nodes
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        if id(node) not in fields
    ]
    return [f"line {line}: {name}" for line, name in named if name in banned]


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each string constant of a module, docstrings included, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each paragraph of a document with its line; blocks and `code` are left out."""
    text = re.sub(
        r"^```.*?^```$",
        lambda block: "\n" * block[0].count("\n"),
        path.read_text(encoding="utf-8"),
        flags=re.M | re.S,
    )
    text = re.sub(r"`[^`\n]*`", "``", text)
    for paragraph in re.finditer(r"(?:.+\n?)+", text):
        yield text.count("\n", 0, paragraph.start()) + 1, paragraph[0]


def dialect(texts: Iterator[tuple[int, str]]) -> list[str]:
    """Return a line about each banned phrase: where it is, and what to write instead."""
    return [
        f"line {line}: {match[0]!r} -> {instead}"
        for line, text in texts
        for phrase, instead in BANNED
        for match in phrase.finditer(" ".join(text.split()))
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_strings_are_plain_english(path: Path) -> None:
    """No message and no docstring uses a phrase that has a plain equivalent."""
    assert not dialect(strings(path))


@pytest.mark.parametrize("path", [*SOURCES, *SCRIPTS, *TESTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_variables_have_names_that_say_what_they_are(path: Path) -> None:
    """No variable and no parameter has one of the names that fit anything."""
    assert not empty_names(path)


def test_empty_names_are_found(tmp_path: Path) -> None:
    """Variables, parameters and those of comprehensions are found; attributes and `Part`s are not."""
    path = tmp_path / "a.py"
    path.write_text("def f(at):\n    self.found = part = [each for each in at]\n", encoding="utf-8")
    assert empty_names(path) == ["line 1: at", "line 2: part", "line 2: each"]
    path.write_text("def f(part: Part) -> None: ...\n", encoding="utf-8")
    assert empty_names(path) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents_are_plain_english(path: Path) -> None:
    """No document uses a phrase that has a plain equivalent."""
    assert not dialect(paragraphs(path))


def test_phrases_are_found_over_lines() -> None:
    """A phrase is found across a line break and in any case, and code is not prose."""
    assert dialect(iter([(3, "It does So\n  many things.")])) == [
        "line 3: 'So many' -> this many, or the number"
    ]


def test_code_is_no_prose(tmp_path: Path) -> None:
    """Blocks and names in backticks may use any words, and lines are counted through them."""
    path = tmp_path / "a.md"
    path.write_text("```sh\nso many\n```\n\n`so many` and so\nmany\n", encoding="utf-8")
    assert dialect(paragraphs(path)) == ["line 5: 'so many' -> this many, or the number"]
