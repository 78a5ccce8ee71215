"""Text in any width: lines, labels, and which columns fit. It knows nothing of reports."""
