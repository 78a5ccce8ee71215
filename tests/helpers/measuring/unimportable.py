"""A module that cannot be imported."""

raise RuntimeError("this cannot work here")
