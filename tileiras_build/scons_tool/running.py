"""Where the steps of a build run: the executor that ``executor=`` names, behind the cache that ``cache=`` names."""

from __future__ import annotations

import SCons.Script

from ..executor import Executor, make_executor
from ..executor.cache import BuildCache, open_store
from .caching import CachingExecutor


def start_executor(env) -> Executor:
    """The executor of a build, from the options of ``env`` and of SCons; raises InvalidInput."""
    option = SCons.Script.GetOption
    place = str(env.get("cache", ""))
    if not place or option("cache_disable"):
        return _start(env)
    store = open_store(place, env.Dir("#").get_abspath())
    cache = BuildCache(store, readonly=bool(option("cache_readonly")))
    return CachingExecutor(cache, lambda: _start(env))


def check_cache(text: str) -> None:
    """Raises InvalidInput where ``text`` is not a value of ``cache=``."""
    if text:
        open_store(text)


def _start(env) -> Executor:
    return make_executor(env.GetOption("num_jobs"))
