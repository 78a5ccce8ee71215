"""Words of HTML: elements, escaped text, labels that may break between their parts."""

from __future__ import annotations

import html

from abtune.report.labels import printable

_EMPTY = {"meta"}


def escaped(text: str) -> str:
    """Keep text from names and messages from acting as HTML."""
    return html.escape(printable(text), quote=True)


def element(name: str, /, *inner: str, **attributes: str) -> str:
    """Write an element around markup; attributes are escaped here.

    Names of attributes lose a trailing underscore (``class_``), other underscores become hyphens.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"' for key, value in attributes.items()
    )
    return f"<{name}{given}>" if name in _EMPTY else f"<{name}{given}>{''.join(inner)}</{name}>"


def breakable(text: str) -> str:
    """Escape text in which a narrow column may break labels between their parts."""
    return escaped(text).replace("_", "_<wbr>")


def label(text: str) -> str:
    """Write the label of a shape."""
    return element("code", breakable(text))
