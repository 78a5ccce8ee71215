"""Text in any width: lines and labels. It knows nothing of reports."""
