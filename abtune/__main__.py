"""``abtune``, and ``python -m abtune``."""

import sys

INTERRUPTED = 130


def run() -> int:
    """Run the command line of this process; one that is interrupted while it is loaded ends as any other.

    Returns
    -------
    int
        The exit code, as of :func:`abtune.cli.main`.
    """
    try:
        from abtune.cli import main

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("abtune: interrupted\n")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(run())
