"""``python -m tileiras_build``: the command ``tileiras-build``."""

import sys

from .cli.main import main

sys.exit(main())
