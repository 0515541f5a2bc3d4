"""What the fork server imports for the tiny stages of fake_stages.py."""

from tileiras_build.workers.executor.fork_server_preload import preloading

with preloading():
    from tileiras_build import driver  # noqa: F401
    from tileiras_build.workers.executor import traced_fork_call, worker  # noqa: F401
