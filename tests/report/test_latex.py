"""The report as LaTeX: it compiles, and has the cells of the other formats."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from report_builders import make_analysis, make_comparison, report_of, typical_analysis

from abtune.report.formats import latex
from abtune.report.page import Bullets, Cell, Grid, Heading, Prose, column
from abtune.report.summary import analysis_report

ODD = r"\ { } $ & # ^ _ ~ % < > | [1] * -- ``x''"


def test_tables_have_every_cell() -> None:
    """Each row has label, numbers and marks, in as many cells as the table has columns."""
    text = latex.render(analysis_report(typical_analysis()))
    tables = re.findall(r"\\begin\{tabular\}\{([^\n]*)\}\n(.*?)\\end\{tabular\}", text, flags=re.DOTALL)
    assert len(tables) == len({*re.findall(r"\\caption\{(.*)\}", text)}) == 4
    for aligned, body in tables:
        columns = len(re.sub(r"p\{[^}]*\}", "p", aligned))
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert len(rows) >= 3
        assert {len(re.split(r"(?<!\\)&", row)) for row in rows} == {columns}
    assert r"} & +3.1 & $-$2.0 to +8.7 & 0.21 & 1.0 & $-$5.9 & 4.3/4.3 & 5+5 & 0+0 \\" in text
    assert r"\texttt{M=512\_N=512\_K=512} & not slower & +5.8 & " in text
    assert r"regressed\textsuperscript{1}" in text
    assert r"\item 1 of 10 runs of async failed." in text
    assert r"$<$0.0001" in text


def test_what_is_special_is_escaped() -> None:
    """Names do not act as commands, a minus is one, and a hyphen stays one."""
    cells = column("%", [Cell(text="-3.5"), Cell(text="-"), Cell(text="a-1 to  -2")])
    text = latex.render(
        report_of(
            (Heading(text="a_b", minor=False), Grid(stub="n", labels=("[x]", "*", "c"), columns=(cells,)))
        )
    )
    assert r"\caption{a\_b: n}" in text
    assert "n & \\% \\\\\n" in text
    assert "{[}x] & $-$3.5 \\\\\n{*} & -- \\\\\nc & a-1 to $-$2 \\\\\n" in text


def test_options_keep_their_hyphens() -> None:
    """LaTeX makes a dash of two hyphens, and no option begins with a dash."""
    text = latex.render(report_of((Prose(text="see --why, not a---b"),)))
    assert "see -{}-why, not a-{}-{}-b" in text


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="needs pdflatex: apt-get install texlive-latex-recommended"
)
def test_it_compiles(tmp_path: Path) -> None:
    """LaTeX accepts the report, whatever is in its names."""
    row = make_comparison(ODD, workload=ODD, reason=ODD, caveats=(ODD,))
    odd = analysis_report(make_analysis(row, make_comparison("[a]"), baseline=ODD, candidate=ODD))
    extra = (Prose(text=ODD, remark=False), Bullets(items=(ODD,), footnotes=(ODD,)))
    body = "".join(map(latex.render, (analysis_report(typical_analysis()), odd, report_of(extra))))
    head = "\\documentclass{article}\n\\usepackage{booktabs,graphicx}\n\\begin{document}\n"
    (tmp_path / "a.tex").write_text(f"{head}{body}\\end{{document}}\n")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
