"""``python -m abtune``."""

import sys

from abtune.cli import main

sys.exit(main())
