"""Imports the code of all stages at once, for processes that are forked later."""

from __future__ import annotations

from contextlib import suppress

from ...pipeline.stages import STAGES, load


def import_stages() -> None:
    """Import it. If a module cannot be imported, the step that needs it reports the error, with a location."""
    with suppress(Exception):
        from ...pipeline.tile_ir_text_format import DIALECTS, context

        for dialect in DIALECTS:
            context().load_registered_dialect(dialect)

    for stage in STAGES[1:]:
        for function in (stage.parse, stage.edge, stage.render):
            with suppress(Exception):
                load(function)

    with suppress(Exception):
        load(STAGES[0].parse)
