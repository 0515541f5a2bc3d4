"""Selects where steps run: the executor of ``executor=``, behind the cache of ``cache=``."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import SCons.Script

from ..config.build_options import LOCAL, check_executor, yes_no
from ..core.cpu_count import cpu_count
from ..core.errors import InvalidInput
from ..core.system_limit_errors import start_errors
from ..workers.executor import Executor, make_executor
from ..workers.server.run_on_server import IMAGE, is_wanted

MIB = 1 << 20


def start_executor(env) -> Executor:
    """The executor of a build, from the options of ``env`` and of SCons; raises InvalidInput."""
    option = SCons.Script.GetOption
    place = str(env.get("cache", ""))
    if not place or option("cache_disable"):
        return _start(env)
    from ..workers.executor.cache import BuildCache, open_store
    from .caching_executor import CachingExecutor

    store = open_store(place, env.Dir("#").get_abspath())
    cache = BuildCache(store, readonly=bool(option("cache_readonly")))
    return CachingExecutor(cache, lambda: _start(env))


def warm_up(env) -> None:
    """Import what local workers need while the build scripts are read.

    With a cache the workers may have nothing to do.
    """
    option = SCons.Script.GetOption
    cached = str(env.get("cache", "")) and not option("cache_disable")
    if cached or option("clean") or str(env.get("executor", LOCAL)) != LOCAL:
        return
    from ..workers.executor import worker_pool

    # A worker that cannot start is an error of the first step.
    with suppress(InvalidInput, OSError, RuntimeError), start_errors():
        if _uses_warm_server(env):
            worker_pool.use_server(IMAGE)
        else:
            worker_pool.warm_up()


def _uses_warm_server(env) -> bool:
    """Whether a compile server may fork the workers: by ``server=``, else like for commands."""
    given = str(env.get("server", ""))
    return is_wanted() if not given else sys.platform == "linux" and yes_no("server", given)


def _start(env) -> Executor:
    place, jobs = str(env.get("executor", LOCAL)), env.GetOption("num_jobs")
    memory = env["TILEIRAS_MEMORY"] * MIB if "TILEIRAS_MEMORY" in env else None
    check_executor("executor", place)
    if place == LOCAL:
        if _uses_warm_server(env):
            from ..workers.executor import worker_pool

            worker_pool.use_server(IMAGE)
        return make_executor(jobs, memory=memory)
    from ..workers.executor.dask_executor import DaskExecutor
    from ..workers.executor.tls_certificates import Certificates

    certificates = Certificates(*(_path(env, f"executor_{name}") for name in ("ca", "cert", "key")))
    local = lambda: make_executor(min(jobs, cpu_count()), memory=memory)
    return DaskExecutor(place, local, jobs=jobs, certificates=certificates)


def _path(env, option: str) -> str:
    """The file of an option, relative to the top folder; "" if it is empty."""
    return (
        os.path.join(env.Dir("#").get_abspath(), os.path.expanduser(text)) if (text := str(env.get(option, ""))) else ""
    )
