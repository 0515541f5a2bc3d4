"""``python -m tileiras_build``: the command ``tileiras-build``."""

import sys

from .command import run_command

sys.exit(run_command())
