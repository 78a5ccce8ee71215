"""The documents as a site: mkdocs builds it without a warning, and it has every command and public name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import abtune
from abtune.cli import COMMANDS

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site strictly: a broken link or anchor, or a page outside the navigation, is an error.

    Without --quiet, which also silences the warnings that --strict counts.
    """
    pytest.importorskip("mkdocs", reason="pip install 'abtune[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [
        "mkdocs",
        "build",
        "--strict",
        "-f",
        str(ROOT / "docs/site/mkdocs.yml"),
        "-d",
        str(folder),
    ]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_reference_is_complete(site: Path) -> None:
    """Each command, each public function and class, and fields of JSON have their place."""
    commands, python, fields = (
        (site / f"reference-{name}.html").read_text("utf-8") for name in ("commands", "python", "json")
    )
    assert not [name for name in COMMANDS if f'id="abtune-{name}"' not in commands]
    names = [name for name in abtune.__all__ if not name.startswith("_")]
    assert not [name for name in names if not re.search(rf'id="abtune\.[\w.]*\.{name}"', python)]
    assert "<code>comparisons[].boost_low</code>" in fields
    assert ":class:" not in python


def test_the_tutorial_and_the_readme_are_pages(site: Path) -> None:
    """The notebook shows what its cells print, and links from the README lead to pages of the site."""
    assert "is faster than old on average over these" in (site / "tutorial.html").read_text("utf-8")
    index = (site / "index.html").read_text("utf-8")
    assert 'href="tutorial.html"' in index
    assert 'href="CONTRIBUTING.html"' in index


def test_pages_load_nothing_from_the_network(site: Path) -> None:
    """Scripts, styles and fonts lie beside the pages."""
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|link rel=\"stylesheet\"|img)[^>]*(?:src|href)=\"(https?:[^\"]*)",
            page.read_text("utf-8"),
        )
        assert not loaded, page
