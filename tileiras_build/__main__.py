"""``python -m tileiras_build``: the command ``tileiras-build``."""

import sys

from .cli.main import run_command

sys.exit(run_command())
