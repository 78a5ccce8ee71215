"""The documentation does what it shows.

Every block of README.md and docs/*.md that is fenced as ``console`` is run: each line ``$ abtune ...`` in
this process, in a folder of the document's own and 100 columns wide. What is shown below the command has to
be what it prints, where a line ``...`` stands for any number of lines. Each command has to work, unless
``$ echo $?`` shows its exit code. Other commands are not run.

A comment on the last line before a block changes that: ``<!-- not run: needs a GPU -->`` skips the block, and
``<!-- given: abtune.nc -->`` first puts the made-up sweep of ``example_sweep.py`` into the folder, and
``<!-- given: samples -->`` the files that importers are tested with.

Blocks that are fenced as ``python`` are run too, each as a program of its own. So are the examples in the
docstrings of public names.

``ABTUNE_UPDATE_GOLDEN=1 pytest tests/test_documentation.py`` writes what is printed into the documents. Where
lines are left out, each line that is shown becomes the printed line most like it.
"""

from __future__ import annotations

import difflib
import doctest
import importlib
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from example_sweep import swept

import abtune
from abtune.cli import main
from abtune.sections.section_registry import FIGURES

ROOT = Path(__file__).parent.parent
UPDATE = bool(os.environ.get("ABTUNE_UPDATE_GOLDEN"))
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"(?:<!-- (?P<word>not run|given): (?P<what>.*?) -->\s*)?^```console\n(?P<body>.*?)^```", re.M | re.S
)
PROGRAM = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command of a block as it is written, what is shown below it, and whether its exit code is, too."""

    written: str
    shown: str
    may_fail: bool

    @property
    def words(self) -> list[str]:
        """The command as a shell would read it."""
        return shlex.split(self.written.replace("\\\n", " "))


def steps(body: str) -> Iterator[Step]:
    command = r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)(?=(\$ echo \$\?\n)?)"
    for match in re.finditer(command, body, flags=re.MULTILINE):
        yield Step(written=match[1], shown=match[2], may_fail=match[3] is not None)


def matches(shown: str, printed: str) -> bool:
    """Compare line by line, trailing blanks aside; ``...`` stands for any number of lines."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "..." else re.escape(line.rstrip()) + r"\n"
        for line in shown.strip("\n").splitlines()
    )
    lines = printed.strip("\n").splitlines()
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in lines)) is not None


def refreshed(shown: str, printed: str) -> str:
    """Return what a document is to show: all that is printed, or the lines most like those it shows."""
    lines = [line.rstrip() for line in printed.splitlines()]
    if "...\n" not in shown:
        return "".join(f"{line}\n" for line in lines)
    kept, start = [], 0
    for line in shown.splitlines():
        if line.strip() != "..." and start < len(lines):
            alike = [difflib.SequenceMatcher(None, line, other).ratio() for other in lines[start:]]
            start += alike.index(max(alike)) + 1
            line = lines[start - 1]  # noqa: PLW2901
        kept.append(line)
    return "".join(f"{line}\n" for line in kept)


def run_step(step: Step, code: int, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run one command and return the exit code and what is to be shown; fail unless it is."""
    words = step.words
    if words == ["echo", "$?"]:
        assert step.shown.strip() == str(code)
    if words[0] != "abtune":
        return code, step.shown
    assert not {"|", ">", "&&"} & set(words), f"only plain commands are run: {step.written}"
    code = main(words[1:])
    captured = capsys.readouterr()
    printed = captured.out + captured.err
    assert code == 0 or step.may_fail, printed
    if not step.shown.strip():
        return code, step.shown
    if not matches(step.shown, printed):
        assert UPDATE, f"$ {step.written}{printed}"
        return code, refreshed(step.shown, printed)
    return code, step.shown


def give(what: str) -> None:
    """Put the made-up sweep, or the samples of the importers, into the folder."""
    if what != "samples":
        abtune.save_dataset(swept(), what)
        return
    for path in (ROOT / "tests" / "ingest" / "samples").iterdir():
        Path(path.name).symlink_to(path)


@pytest.mark.usefixtures("empty_folder")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_print_what_is_shown(
    document: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command of a document works and prints what the document shows."""
    monkeypatch.setenv("COLUMNS", "100")
    Path("data").symlink_to(ROOT / "data")
    text = updated = document.read_text(encoding="utf-8")
    code = 0
    for block in BLOCK.finditer(text):
        if block["word"] == "not run":
            continue
        if block["word"] == "given":
            give(block["what"])
        for step in steps(block["body"]):
            code, shown = run_step(step, code, capsys)
            updated = updated.replace(f"$ {step.written}{step.shown}", f"$ {step.written}{shown}", 1)
    if updated != text:
        document.write_text(updated, encoding="utf-8")


@pytest.mark.usefixtures("empty_folder")
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(block[1], id=f"{document.name}-{number}")
        for document in DOCUMENTS
        for number, block in enumerate(PROGRAM.finditer(document.read_text(encoding="utf-8")))
    ],
)
def test_programs_run(program: str) -> None:
    """Every block of Python works as it is written."""
    exec(compile(program, "block", "exec"), {"__name__": "block"})  # noqa: S102 - that of our documents


EXAMPLES = [
    example
    for name in abtune.__all__
    for example in doctest.DocTestFinder().find(getattr(abtune, name), name, globs={})
    if example.examples
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_of_public_names(example: doctest.DocTest) -> None:
    """The examples in the docstrings of public names print what they show."""
    doctest.DebugRunner().run(example)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_names_of_the_library_exist(document: Path) -> None:
    """What a document calls abtune.x.y can be imported, or is reached from `import abtune`."""
    text = document.read_text(encoding="utf-8")
    for module, names in re.findall(r"from (abtune[\w.]*) import (\w+)", text):
        assert hasattr(importlib.import_module(module), names), (module, names)


def test_lines_can_be_left_out() -> None:
    """Three dots stand for any lines, none too, and nothing else is forgiven."""
    assert matches("a\n...\nd\n", "a\nb\nc\nd\n")
    assert matches("a\n...\nb\n", "a  \nb\n")
    assert not matches("a\n...\n", "b\nc\n")
    assert not matches("a.\n", "ab\n")


def test_blocks_are_found_with_their_comments() -> None:
    """A comment belongs to the block that follows it, and a command may go on in the next line."""
    text = "<!-- not run: slow -->\n```console\n$ abtune \\\n  sweep\ndone\n```\nx\n\n```console\n$ ls\n```\n"
    blocks = list(BLOCK.finditer(text))
    assert [block["word"] for block in blocks] == ["not run", None]
    (step,) = steps(blocks[0]["body"])
    assert (step.words, step.shown, step.may_fail) == (["abtune", "sweep"], "done\n", False)
    assert [step.may_fail for step in steps("$ false\nno\n$ echo $?\n1\n$ true\n")] == [True, False, False]


# A file or folder of the repository, and maybe a name that the file defines: `abtune/cli.py:main`.
NAMED = re.compile(r"`((?:abtune|tests|docs|analysis|data)/[\w./-]*)(?::(\w+))?`")


@pytest.mark.parametrize("document", [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md"])
def test_paths_of_a_document_exist(document: Path) -> None:
    """Every path exists, and every name after a colon is defined at the top level of its file."""
    named = NAMED.findall(document.read_text(encoding="utf-8"))
    assert named
    assert not [path for path, _ in named if not (ROOT / path).exists()]
    wrong = [
        f"{path}:{name}"
        for path, name in named
        if name
        and not re.search(
            rf"^(?:(?:async )?def |class )?{name}\b[^\n]*", (ROOT / path).read_text(encoding="utf-8"), re.M
        )
    ]
    assert not wrong


def test_every_room_is_in_the_architecture() -> None:
    """No folder or module at the top of abtune, and no room of the measuring half, is left out."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "abtune"
    rooms = [path for path in package.iterdir() if path.suffix == ".py" and not path.stem.startswith("__")]
    rooms += [
        path.parent for folder in (package, package / "measure") for path in folder.glob("*/__init__.py")
    ]
    left_out = {str(path.relative_to(ROOT)) for path in rooms if f"`{path.relative_to(ROOT)}" not in text}
    assert not left_out


def test_the_gallery_has_every_kind_of_figure() -> None:
    """Each kind stands beside its command, and each picture is there and small."""
    text = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    default, *others = FIGURES
    assert "$ abtune plot h200-tvm14009 --beside" in text, f"the default, {default}"
    assert all(f"--kind {name} " in text for name in others)
    pictures = [ROOT / "docs" / name for name in re.findall(r"^!\[.*\]\((.*)\)$", text, flags=re.MULTILINE)]
    assert len(pictures) == text.count("```console")
    sizes = {path.name: path.stat().st_size for path in pictures if path.name.startswith("gallery-")}
    assert max(sizes.values()) <= 100_000, sizes
