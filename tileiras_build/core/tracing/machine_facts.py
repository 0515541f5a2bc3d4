"""Queries about the machine and the user by functions of ``os`` that open no file: one fact for each function.

The state of a fact is a short text, computed by the original functions: the tracer replaces those of ``os``.
"""

from __future__ import annotations

import os
from collections.abc import Callable

_affinity = getattr(os, "sched_getaffinity", None)  # not available on every system
_cpu_count, _sysconf, _uname = os.cpu_count, os.sysconf, os.uname
_identities = (os.getuid, os.geteuid, os.getgid, os.getegid, os.getgroups)

PROCESSORS, MEMORY, HOST, SYSTEM, USER = "processors", "memory", "host", "system", "user"
FUNCTIONS = {
    "cpu_count": PROCESSORS,
    "process_cpu_count": PROCESSORS,
    "sched_getaffinity": PROCESSORS,
    "uname": HOST,
    **dict.fromkeys(("getuid", "geteuid", "getgid", "getegid", "getgroups"), USER),
}
# Functions of ``platform`` whose results are narrower than that of ``os.uname``.
OF_SYSTEM = frozenset(("system", "machine"))


def fact_of_sysconf(name: object) -> str | None:
    """The fact for a name of ``os.sysconf``."""
    text = str(name)
    return PROCESSORS if "NPROCESSORS" in text else MEMORY if "PAGES" in text else None


def _processors() -> object:
    return _cpu_count(), sorted(_affinity(0)) if _affinity else ()


FACTS: dict[str, Callable[[], object]] = {
    PROCESSORS: _processors,
    MEMORY: lambda: _sysconf("SC_PHYS_PAGES"),
    HOST: lambda: tuple(_uname()),
    SYSTEM: lambda: (_uname().sysname, _uname().machine),
    USER: lambda: [identity() for identity in _identities],
}
