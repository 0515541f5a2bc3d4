"""The number of threads of a twin: that of its first cubin."""

import pytest

from tileiras_build.cutile.native_launcher import NativeLauncher, NotNative, OtherThreads


def test_the_first_cubin_decides_how_many_threads_a_block_has():
    launcher = object.__new__(NativeLauncher)
    launcher.threads, launcher._is_first = (128,), True
    with pytest.raises(OtherThreads):
        launcher._check_threads(256)
    launcher._check_threads(256)
    with pytest.raises(NotNative):
        launcher._check_threads(128)
    assert launcher.threads == (256,)
