"""Packages that seem to be installed, for checks of versions."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping

import pytest


def pretend_installed(monkeypatch: pytest.MonkeyPatch, installed: Mapping[str, str]) -> None:
    """Pretend that just these packages are installed, in these versions."""

    def version(name: str) -> str:
        if name in installed:
            return installed[name]
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", version)
