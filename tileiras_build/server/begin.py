"""The main function of a server's process: import, look, serve."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from pathlib import Path

from ..reads import loading, watch
from ..reads.looking import WORKER_VARIABLES
from ..sources import installed
from . import address
from .freshness import Changed, Clock, Freshness
from .serve import Server


def main() -> None:
    """Begin with what ``client.Place.start`` has said: the name, the lock, the moment, and the module to import."""
    name, lock, day, machine, image = sys.argv[1:]
    installed().note()
    start = Clock(int(day), float(machine))
    folder, variables = address.open_folder(), dict(os.environ)
    text = address.surroundings()
    if address.name_of(text) != name:
        _say_failed(folder, name, "a new process is not what the client is")
        return
    os.setsid()
    os.set_inheritable(int(lock), False)
    _write_errors_to(folder, name)
    os.chdir("/")
    asked = _load(image)
    try:
        freshness = Freshness(start, asked)
    except Changed:
        return
    Server(folder, name, int(lock), text, variables, freshness).serve()


def _write_errors_to(folder: int, name: str) -> None:
    log = os.open(f"/proc/self/fd/{folder}/{name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(log, 2)
    os.close(log)


def _load(image: str) -> frozenset[str]:
    """Import the module ``image`` and let it warm up; the variables that libraries have asked for when they were imported."""
    for variable, value in WORKER_VARIABLES.items():
        os.environ.setdefault(variable, value)
    gc.disable()
    loading.use_certain_code()
    watch.install().load()
    module = import_module(image)
    asked = watch.watch().variables()
    module.warm_up()
    watch.watch().loaded()
    # Frozen objects are never visited by a fork's collector, so their pages stay shared.
    gc.freeze()
    return asked


def _say_failed(folder: int, name: str, why: str) -> None:
    Path(f"/proc/self/fd/{folder}/{name}.failed").write_text(why)
