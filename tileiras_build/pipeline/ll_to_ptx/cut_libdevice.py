"""Extract the functions of a request from libdevice as a ``.libdevice.bc`` for one GPU."""

from __future__ import annotations

from ..job import Job


def cut(request: str, job: Job) -> bytes:
    """The ``.libdevice.bc`` of a request (``libdevice_request.py``); the link reports functions that the library lacks.

    Raises InvalidInput[libdevice-missing, libdevice-broken, target-triple].
    """
    from ...libdevice.link import store_for
    from .target_machine import library_machine

    triple, *names = request.split()
    return store_for(job.libdevice, library_machine(triple)).cut(names, job.target.number)


def render(data: bytes) -> bytes:
    """The bytes of the file."""
    return data
