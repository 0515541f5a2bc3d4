"""Imported once by the fork server: what every worker needs is then in memory when it is forked."""

from contextlib import suppress

from .fork_server import preloading

with preloading():
    from ..pipeline.stages import STAGES, load

    with suppress(Exception):
        from ..pipeline.text_format import DIALECTS, context

        for dialect in DIALECTS:
            context().load_registered_dialect(dialect)

    for stage in STAGES[1:]:
        for function in (stage.parse, stage.edge, stage.render):
            # A part that cannot be imported says so in the task that needs it, with a location.
            with suppress(Exception):
                load(function)

    with suppress(Exception):
        load(STAGES[0].parse)
