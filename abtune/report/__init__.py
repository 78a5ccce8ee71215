"""Renderings of an analysis: terminal, markdown, HTML, JSON, CSV, and figures.

One module a kind of reader, one function a format, from an :class:`~abtune.analyse.comparison.Analysis` to
text or a figure. What the data support was decided before: a renderer shows verdicts and never makes one.
"""
