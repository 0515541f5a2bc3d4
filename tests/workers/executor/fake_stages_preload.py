"""``dask worker --preload``: the fork server of a worker that makes the tiny stages does without the compiler's imports."""

from tests import fake_stages

fake_stages.use_own_preload()
