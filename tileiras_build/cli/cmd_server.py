"""``tileiras-build server [status|stop]``: list or stop the compile servers of this user."""

from __future__ import annotations

import argparse

from ..core.errors import InvalidInput


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``server``."""
    actions = ("status", "stop")
    parser.add_argument("action", metavar="ACTION", nargs="?", choices=actions, default="status", help="status or stop")


def run(options: argparse.Namespace) -> None:
    """Print a line for each server that answers."""
    from ..workers.server.list_servers import find_servers

    try:
        servers = find_servers(options.action)
    except OSError as error:
        message = f"cannot use the server socket folder: {error.strerror} ({error.filename})"
        remedy = "commands still work, without a server; set XDG_RUNTIME_DIR or TMPDIR to a private folder"
        raise InvalidInput("server-folder", message, remedy=remedy) from None
    prefix = "stopped: " if options.action == "stop" else ""
    print(*(f"{prefix}{server}" for server in servers) if servers else ["no servers running"], sep="\n")
