"""Renderings of an analysis: terminal, markdown, JSON and CSV."""
