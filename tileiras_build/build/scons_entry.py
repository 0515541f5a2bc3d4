"""``generate``: where SCons enters the tool. A null build ends here, before what constructs the graph is imported."""

from __future__ import annotations

import atexit
import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import SCons.Script

from ..config.build_options import DEFAULTS
from .always_build import changes_files
from .build_folder_lock import lock_folder
from .fast_exit import skip_final_gc
from .incremental.null_build import BuildState, NullBuild, print_up_to_date
from .incremental.sconscript_trace import TRACE
from .parallel_jobs import use_all_cores
from .scons_variables import add_defaults, is_pruning

if TYPE_CHECKING:
    from ..pipeline.stages import Stage
    from ..workers.executor import Executor
    from .build_session import BuildSession

current_session: BuildSession | None = None  # of this process: environments share the workers and the counts


def exists(env) -> bool:
    """True: the tool needs only this package."""
    return True


def generate(env, table: tuple[Stage, ...] | None = None, executor: Executor | None = None) -> None:
    """Add the builders to ``env``: ``KernelLibrary``, and one per stage. Exits if there is nothing to do.

    ``table`` replaces the stages (for tests); ``executor`` the local worker pool.
    """
    global current_session
    # The graph lives as long as SCons: garbage collections of it take a fifth of a null build.
    gc.disable()
    # By default SCons does not read a file with an unchanged time stamp of three days ago, even if the time was set back.
    SCons.Script.SetOption("max_drift", -1)
    add_defaults(env)
    if current_session is None:
        current_session = _begin(env, executor)
    from .kernel_library import add_builders

    add_builders(env, current_session, table)


def _begin(env, executor: Executor | None) -> BuildSession:
    """The session of this process. Exits if there is nothing to do."""
    # The first registered handler runs last.
    atexit.register(skip_final_gc)
    use_all_cores()
    if SCons.Script.GetOption("help"):
        from .scons_help import help_text

        SCons.Script.Help(help_text(env), append=True, local_only=True)
    null_build = NullBuild(TRACE, Path(env.Dir("#").get_abspath(), str(env.get("build_dir", DEFAULTS["build_dir"]))))
    state = _compare(env, null_build)
    if executor is None and changes_files() and null_build.has_work():
        _warm_up(env)
    from .build_session import BuildSession

    null_build.add_loaded_modules()
    session = BuildSession(null_build, executor, is_pruning(env), state)
    session.attach()
    if not env.get("cache", ""):
        session.keep_replaced()
    return session


def _compare(env, null_build: NullBuild) -> BuildState:
    """The change since the last build, with the build folder locked. Exits if there is none."""
    # A null build does not check for orphans.
    compare = BuildState if is_pruning(env) else null_build.compare
    state = compare()
    if state.names is None and changes_files() and lock_folder(env.Dir("#").get_abspath()):
        state = compare()
    if state.names is not None:
        print_up_to_date(state.names)
        null_build.notify_watch()
        sys.exit(0)
    return state


def _warm_up(env) -> None:
    from .select_executor import warm_up

    with TRACE.untraced():
        warm_up(env)
