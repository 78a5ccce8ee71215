"""The notebook docs/tutorial.ipynb prints what it shows; ``ABTUNE_UPDATE_GOLDEN=1`` writes it anew."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parent.parent / "docs" / "tutorial.ipynb"


def outputs(text: str) -> list[dict[str, Any]]:
    """Return what a notebook stores of a printed text."""
    lines = text.splitlines(keepends=True)
    return [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []


@pytest.mark.usefixtures("empty_folder")
def test_the_notebook_prints_what_it_shows() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, start=1):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec("".join(cell["source"]), names)  # noqa: S102 - our own
        if os.environ.get("ABTUNE_UPDATE_GOLDEN"):
            cell |= {"execution_count": number, "outputs": outputs(printed.getvalue())}
        assert cell["outputs"] == outputs(printed.getvalue())
    if os.environ.get("ABTUNE_UPDATE_GOLDEN"):
        NOTEBOOK.write_text(f"{json.dumps(notebook, indent=1, ensure_ascii=False)}\n", encoding="utf-8")
    assert Path("tutorial.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert names["analysis"].worst.boost_low >= -0.05
    verdicts = [row.verdict.words for row in names["analysis"].comparisons]
    assert verdicts[0] == "improved"
    assert "regressed" not in verdicts
