"""``tileiras-build estimate K.cubin``: a kernel's run time by an analytical model (``simulate/estimate``)."""

from __future__ import annotations

import argparse

from ..simulate.estimate.command_options import add_options

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Print the estimate."""
    from ..simulate.estimate import estimate_command

    estimate_command.run(options)
