"""``python -m tileiras_build``: the command ``tileiras-build``."""

import sys

from .command import main

sys.exit(main())
