"""Imported once by the fork server: what every worker needs is then in memory when it is forked."""

from .fork_server import preloading

with preloading():
    from .import_stages import import_stages

    import_stages()
