"""Words of HTML: elements, escaped text, labels that may break between their parts."""

from __future__ import annotations

import html
import re

from abtune.report.labels import printable

_EMPTY = {"meta"}
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]{0,30}(?![\w-])")
# A run of so many characters, without a place to break, makes a column too wide.
_UNBROKEN = re.compile(r"[^\s_-]{24}")


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


def sentence(text: str) -> str:
    """Escape text in which a browser may break lines, but not within the name of an option."""
    return _OPTION.sub(lambda found: element("span", found[0], class_="option"), escaped(text))


def name(text: str) -> str:
    """Write a name for a column of a table; one that is too long may break anywhere."""
    written = breakable(text)
    return element("span", written, class_="long") if _UNBROKEN.search(text) else written


def label(text: str) -> str:
    """Write the label of a shape."""
    return element("code", breakable(text))
