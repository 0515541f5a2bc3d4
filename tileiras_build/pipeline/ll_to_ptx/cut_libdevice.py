"""From a request to a ``.libdevice.bc``: what modules with that request link, cut from libdevice for one GPU."""

from __future__ import annotations

from ..job import Job


def cut(request: str, job: Job) -> bytes:
    """The ``.libdevice.bc`` of a request (``libdevice_request.py``); what the library lacks is left to the link.

    Raises InvalidInput[libdevice-missing, libdevice-broken, target-triple].
    """
    from ...libdevice.link import store_for
    from .target_machine import library_machine

    triple, *names = request.split()
    return store_for(job.libdevice, library_machine(triple)).cut(names, job.target.number)


def render(data: bytes) -> bytes:
    """The file of a cut library, which it is."""
    return data
