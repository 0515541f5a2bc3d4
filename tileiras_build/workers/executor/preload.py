"""Imported once by the fork server, so that every forked worker has its needs in memory."""

from .fork_server_preload import preloading

with preloading():
    from .import_stages import import_stages

    import_stages()
