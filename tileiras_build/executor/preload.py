"""Imported once by the fork server: what every worker needs is then in memory when it is forked."""

import atexit
import gc
import os
import signal
from contextlib import suppress

from ..private_folder import sweep

# The fork server is the last to end, also where its build was killed.
atexit.register(sweep)


def _end_with_build(*_) -> None:
    if os.getppid() != _build:
        sweep()
        os._exit(1)


# The fork server looks after its build only when all of this is imported, which takes seconds on a busy machine.
_build = os.getppid()
signal.signal(signal.SIGALRM, _end_with_build)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)

# What is imported stays: collecting between the imports finds nothing, and costs a tenth of them.
gc.disable()

from ..reads import loading, watch  # noqa: E402
from ..reads.looking import WORKER_VARIABLES  # noqa: E402

loading.use_certain_code()
watch.install().load()

for name, value in WORKER_VARIABLES.items():
    os.environ.setdefault(name, value)

from ..pipeline.stages import STAGES, load  # noqa: E402

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

watch.watch().loaded()

# Frozen objects are never visited by a worker's collector, so their pages stay shared.
gc.freeze()
gc.enable()

signal.setitimer(signal.ITIMER_REAL, 0)
signal.signal(signal.SIGALRM, signal.SIG_DFL)
