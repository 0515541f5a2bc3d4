"""Which variant a launch takes, and which one stands for it where the kernel is compiled for other arguments."""

import pytest

from tileiras_build.manifest.launch_manifest import Argument, Grid, Launch, Parameter, Programs
from tileiras_build.manifest.variant_assumptions import choices, conditions


def launch(minimum=None, divisible_by=1, most=0, cluster=1, name="n", programs=()) -> Launch:
    """``most`` is of files of older compilers; ``programs``: the least, the most, and the least length."""
    param = Parameter(name=name, kind="i32", size=4, offset=0, minimum=minimum, divisible_by=divisible_by)
    rows = [Programs(least=least, most=last, param=0, minimum=length) for least, last, length in programs]
    grid = Grid(most=most, cluster=cluster, programs=rows)
    return Launch(
        threads_per_cta=128, params=[param], arguments=[Argument(name=name, kind="scalar", param=0)], grid=grid
    )


GENERAL = launch(minimum=0, divisible_by=16)
VARIANTS = {
    "split4": launch(1024, 16, most=33),
    "split2": launch(512, 16, most=66),
    "cluster2": launch(0, 16, cluster=2),
}
CHOICES = choices("k", GENERAL, VARIANTS)
TAILS = choices(
    "k",
    GENERAL,
    {
        "split4": launch(0, 16, programs=[(1, 33, 1024), (133, 165, 8192)]),
        "split2": launch(0, 16, programs=[(34, 66, 512), (133, 198, 4096)]),
        "cluster2": launch(0, 16, cluster=2),
    },
)


def test_conditions_are_what_the_variant_adds():
    [(index, param)] = conditions(GENERAL, VARIANTS["split4"])
    assert (index, param.minimum, param.divisible_by) == (0, 1024, 1)
    assert conditions(GENERAL, VARIANTS["cluster2"]) == ()


@pytest.mark.parametrize(
    ("grid", "length", "taken"),
    [
        ((32, 1, 1), 1024, "split4"),
        ((33, 1, 1), 1008, "split2"),
        ((33, 1, 1), 496, "k"),
        ((34, 1, 1), 4096, "split2"),
        ((34, 2, 1), 4096, "cluster2"),
        ((67, 1, 1), 4096, "k"),
    ],
)
def test_the_first_one_that_fits_is_taken(grid, length, taken):
    assert next(one.symbol for one in CHOICES if one.fits(grid, [length])) == taken


@pytest.mark.parametrize(
    ("grid", "length", "taken"),
    [
        ((33, 1, 1), 1024, "split4"),
        ((33, 1, 1), 1008, "k"),
        ((17, 2, 1), 512, "split2"),
        ((67, 1, 1), 65536, "k"),
        ((66, 2, 1), 65536, "cluster2"),
        ((19, 7, 1), 4080, "k"),
        ((19, 7, 1), 4096, "split2"),
        ((11, 5, 3), 8192, "split4"),
        ((166, 1, 1), 8192, "split2"),
        ((199, 1, 1), 8192, "k"),
    ],
)
def test_each_grid_has_a_length_of_its_own(grid, length, taken):
    assert next(one.symbol for one in TAILS if one.fits(grid, [length])) == taken


def test_a_variant_has_the_same_results_for_grids_of_others():
    assert TAILS[0].allows((67, 1, 1), [16]) and not TAILS[2].allows((67, 1, 1), [16])


@pytest.mark.parametrize(
    ("programs", "name", "covering"),
    [
        ([(1, 30, 1024), (140, 165, 16384)], "n", "split4"),
        ([(1, 30, 1024)], "n", "split4"),
        ([(40, 60, 1024)], "n", "split2"),
        ([(1, 34, 1024)], "n", "k"),
        ([(1, 30, 1008)], "n", "k"),
        ([(1, 30, 1024)], "m", "k"),
    ],
)
def test_a_variant_stands_for_fewer_grids(programs, name, covering):
    general, other = launch(0, 16, name=name), launch(0, 16, name=name, programs=programs)
    (wanted, _) = choices("other", general, {"variant": other})
    assert next(one.symbol for one in TAILS if one.covers(wanted)) == covering


@pytest.mark.parametrize(
    ("other", "general", "covering"),
    [
        (launch(1024, most=33), launch(0), "split4"),
        (launch(2048, most=33), launch(0), "split4"),
        (launch(512, most=33), launch(0), "split2"),
        (launch(256, most=33), launch(0), "k"),
        (launch(1024, most=33, name="m"), launch(0, name="m"), "k"),
        (launch(1024, most=66), launch(0), "split2"),
        (launch(0, cluster=2), launch(0), "cluster2"),
        (launch(0, cluster=4), launch(0), "cluster2"),
    ],
)
def test_a_variant_stands_for_another_one_if_it_fits_all_of_its_launches(other, general, covering):
    (wanted, _) = choices("other", general, {"variant": other})
    assert next(one.symbol for one in CHOICES if one.covers(wanted)) == covering
