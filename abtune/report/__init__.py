"""Renderings of an analysis: terminal, markdown, JSON and CSV.

One module a kind of reader, one function a format, from an :class:`~abtune.analyse.comparison.Analysis` to
text. What the data support was decided before: a renderer shows verdicts and never makes one.
"""
