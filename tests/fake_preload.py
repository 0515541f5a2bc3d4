"""What the fork server imports for the tiny stages of fake_stages.py."""

from tileiras_build.executor.fork_server import preloading

with preloading():
    from tileiras_build import driver  # noqa: F401
    from tileiras_build.executor import watched, worker  # noqa: F401
