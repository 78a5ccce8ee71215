"""The files of a sweep, and its dataset."""
