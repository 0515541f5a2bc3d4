"""Hooks into a process that report the reads of a program: files, folders, modules and variables, present or absent.

Python's audit events report every opened file, every listed folder, and every program, connection and library that is
used (``audit_events.py``). A ``stat`` and a read of the environment raise no event: those functions of ``os`` are
replaced. For modules, the name and the searched folders are recorded. Reads by Python's own library and by this package
are not recorded, nor reads of what the program itself has created.

A process executes many steps, and installed libraries stay loaded in it, with the state that they have read. So a read
by a library's code counts for every later step of the process, and so do the files of all loaded libraries. A read by
the program's own code, which is loaded anew each time, counts for its step (``read_tracer.py``).

System calls show the reads of C code and other processes (``syscall_reads.py``), if the system allows tracing them.
Dependencies that cannot be observed (a server's response) are listed in ``DependencyRecord.untraced_actions``. The time
and random numbers are ignored.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial, wraps

from .audit_events import AuditEvents
from .classify_caller_frames import standard_callers
from .machine_facts import FUNCTIONS, fact_of_sysconf
from .read_tracer import ReadTracer, note_search

_tracer = ReadTracer()
_is_hooked = False


def tracer() -> ReadTracer:
    """The tracer of this process; it is active between ``begin`` and ``end``."""
    return _tracer


def install() -> ReadTracer:
    """Install the hooks in this process, once; return its tracer."""
    global _is_hooked
    if not _is_hooked:
        _is_hooked = True
        sys.addaudithook(AuditEvents(_tracer))
        sys.meta_path.insert(0, _Searches())
        os.environ.__class__ = os.environb.__class__ = _Environment
        for name, report in (
            ("stat", ReadTracer.stat),
            ("lstat", ReadTracer.link),
            ("readlink", ReadTracer.link),
            ("access", ReadTracer.stat),
        ):
            setattr(os, name, _notifying(getattr(os, name), report))
        os.fstat = _notifying_of_descriptor(os.fstat)
        for name, fact in FUNCTIONS.items():
            if hasattr(os, name):
                setattr(os, name, _reporting_first(getattr(os, name), partial(_tracer.machine, fact)))
        for name in ("getcwd", "getcwdb"):
            setattr(os, name, _reporting_first(getattr(os, name), _tracer.working_folder))
        os.sysconf = _reporting_sysconf(os.sysconf)
    return _tracer


def _notifying(original: Callable, report: Callable[[ReadTracer, str], None]) -> Callable:
    def function(path, *arguments, **options):
        if not _tracer.active or isinstance(path, int) or options.get("dir_fd") is not None:
            return original(path, *arguments, **options)
        (report if options.get("follow_symlinks", True) else ReadTracer.link)(_tracer, os.fsdecode(path))
        with _tracer.untraced():
            return original(path, *arguments, **options)

    function.__name__ = function.__qualname__ = original.__name__
    function.__doc__ = original.__doc__
    return function


def _reporting_first(original: Callable, report: Callable[[], None]) -> Callable:
    @wraps(original)
    def function(*arguments, **options):
        report()
        return original(*arguments, **options)

    return function


def _reporting_sysconf(original: Callable) -> Callable:
    @wraps(original)
    def sysconf(name):
        if (fact := fact_of_sysconf(name)) is not None:
            _tracer.machine(fact)
        return original(name)

    return sysconf


def _notifying_of_descriptor(original: Callable) -> Callable:
    """Report the program's queries of the state of an open file, but not those of Python's own library for it."""

    def fstat(fd):
        if _tracer.active and not standard_callers():
            with _tracer.untraced():
                path = os.readlink(f"/proc/self/fd/{fd}") if os.path.lexists(f"/proc/self/fd/{fd}") else ""
            if path.startswith(os.sep):
                _tracer.file(path, "stat")
        return original(fd)

    fstat.__doc__ = original.__doc__
    return fstat


class _Environment(os._Environ):
    """``os.environ`` that reports queries."""

    def __getitem__(self, key):
        if _tracer.active:
            _tracer.variable(os.fsdecode(key))
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        _tracer.assigned(os.fsdecode(key))
        super().__setitem__(key, value)

    def __delitem__(self, key):
        _tracer.assigned(os.fsdecode(key))
        super().__delitem__(key)

    def __repr__(self):
        _tracer.all_variables()
        return super().__repr__()

    def __len__(self):
        _tracer.all_variables()
        return super().__len__()

    def __iter__(self):
        _tracer.all_variables()
        return super().__iter__()


class _Searches:
    """The first finder of ``sys.meta_path``: finds nothing, and records the searches of the others."""

    def find_spec(self, name: str, path=None, target=None) -> None:
        """Record the search; always None."""
        if _tracer.active:
            note_search(_tracer, name.rpartition(".")[2], path)
