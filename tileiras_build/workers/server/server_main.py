"""The main function of a server's process: import, check, serve."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from ...core.code_digest import installed
from ...core.tracing import audit_hooks, pyc_staleness
from ...core.tracing.dependency_state import WORKER_VARIABLES
from . import environment_fingerprint
from .list_servers import end_oldest
from .server_loop import Server
from .staleness import Clock, LoadedCode, StaleServer


def main() -> None:
    """Start with the arguments of ``run_on_server.ServerAddress.start``: the name, the lock, the time, and the module to import."""
    name, lock, day, machine, image = sys.argv[1:]
    _close_others(int(lock))
    installed().note()
    os.set_inheritable(int(lock), False)
    folder = environment_fingerprint.open_folder()
    try:
        _begin(folder, name, int(lock), Clock(int(day), float(machine)), image)
    except StaleServer:
        # The next client starts another one.
        pass
    except Exception as error:
        Path(environment_fingerprint.path_in(folder, f"{name}.failed")).write_text(f"{error}\n")
        raise


def _close_others(lock: int) -> None:
    """Close what the client had inherited, such as the pipe by which ninja waits for its command and all that it has started."""
    os.closerange(3, lock)
    os.closerange(lock + 1, os.sysconf("SC_OPEN_MAX"))


def _begin(folder: int, name: str, lock: int, start: Clock, image: str) -> None:
    text, variables = environment_fingerprint.environment_fingerprint(), dict(os.environ)
    if environment_fingerprint.socket_name(text) != name:
        raise ValueError("environment differs from the client's")
    os.setsid()
    os.chdir("/")
    _write_errors_to(environment_fingerprint.path_in(folder, f"{name}.log"))
    module, asked = _load(image)
    freshness = LoadedCode(start, asked)
    end_oldest(folder, name)
    Server(folder, name, lock, text, variables, freshness, module.rehearse).serve()


def _write_errors_to(path: str) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(log, 2)
    os.close(log)


def _load(image: str) -> tuple[ModuleType, frozenset[str]]:
    """The module ``image``, imported and warmed up, and the variables that libraries read while they were imported."""
    for variable, value in WORKER_VARIABLES.items():
        os.environ.setdefault(variable, value)
    gc.disable()
    pyc_staleness.install_pyc_check()
    audit_hooks.install().load()
    module = import_module(image)
    asked = audit_hooks.tracer().variables()
    module.warm_up()
    audit_hooks.tracer().loaded()
    # Frozen objects are never visited by a fork's collector, so their pages stay shared.
    gc.freeze()
    return module, asked
