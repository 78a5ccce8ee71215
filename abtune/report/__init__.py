"""Reports: from an analysis or another result to pages, and from pages to text, HTML, JSON, CSV and figures.

The data were judged before. A report shows verdicts and never makes one.
"""
