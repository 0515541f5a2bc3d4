"""``python -m tileiras_build``: the command ``tileiras-build``."""

import sys

from .cli import main

sys.exit(main())
