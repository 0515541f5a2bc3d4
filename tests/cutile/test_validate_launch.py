"""What is refused before anything is compiled, with any of the releases or none."""

import importlib.metadata

import pytest

import tileiras_build.cutile as hook
from tileiras_build.core.errors import InvalidInput, Unsupported
from tileiras_build.cutile import cuda_tile_versions
from tileiras_build.cutile.validate_launch import checked
from tileiras_build.manifest.manifest_constants import MAX_GRID_PROGRAMS


def check(stream=0, grid=(1,), kernel=3, arguments=()):
    return checked(stream, grid, kernel, arguments, int)


def test_a_grid_has_three_dimensions():
    assert [check(grid=grid) for grid in ((2,), (2, 3), (2, 3, 4), ())] == [(2, 1, 1), (2, 3, 1), (2, 3, 4), (1, 1, 1)]


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"stream": None}, TypeError, "Stream is required, got None; pass torch.cuda.current_stream(), or 0 for"),
        ({"grid": [1]}, TypeError, "Grid must be a tuple"),
        ({"grid": (1, 1, 1, 1)}, ValueError, "Grid dimensions must be at most 3, got length 4"),
        ({"grid": (1, 2.0)}, TypeError, "an integer is required for Grid[1], got float"),
        ({"grid": (-1,)}, OverflowError, "can't convert negative value"),
        ({"grid": (1 << 32,)}, ValueError, "Grid[0] value too big: 4294967296"),
        ({"grid": (1, MAX_GRID_PROGRAMS + 1)}, ValueError, "Grid[1] exceeds 24-bit limit: max=16777215, got=16777216"),
        ({"kernel": "k"}, TypeError, "expects a tile kernel as the third argument, got str"),
        ({"arguments": [1]}, TypeError, "expects a tuple as the fourth argument, got list"),
    ],
    ids=lambda given: "-".join(given) if isinstance(given, dict) else "",
)
def test_what_is_no_launch_is_refused_in_cutile_s_words(wrong, error, words):
    with pytest.raises(error) as caught:
        check(**wrong)
    assert words in str(caught.value)


def as_installed(monkeypatch, found: str | None):
    def version(name):
        if found is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(
        cuda_tile_versions, "cached_lookup", lambda what, find: find()
    )  # what is noted is of what is installed


@pytest.mark.parametrize(("found", "release"), [("1.3.0", "1.3"), ("1.6.2rc1", "1.6"), ("1.7", "1.7")])
def test_a_release_has_a_row(monkeypatch, found, release):
    as_installed(monkeypatch, found)
    assert cuda_tile_versions.installed_version().release == release


@pytest.mark.parametrize("found", ["1.2.0", "1.8.0", "2.0", "1.70.1"])
def test_other_releases_are_refused(monkeypatch, found):
    as_installed(monkeypatch, found)
    with pytest.raises(Unsupported, match=rf"unsupported cuda-tile {found}; supported: 1\.3 to 1\.7") as caught:
        hook.enable("sm_90", device="cpu")
    assert caught.value.id == "cutile-version" and not hook.is_enabled()


def test_no_cutile_is_reported(monkeypatch):
    as_installed(monkeypatch, None)
    with pytest.raises(InvalidInput, match="cuda-tile is not installed; pip install") as caught:
        hook.enable("sm_90", device="cpu")
    assert caught.value.id == "cutile-missing"


def test_nothing_is_enabled_at_first_and_disabling_that_does_nothing():
    assert not hook.is_enabled()
    hook.disable()
    assert not hook.is_enabled()
