"""Which variant a launch takes, and which one stands for it where the kernel is compiled for other arguments."""

import pytest

from tileiras_build.manifest.launch_manifest import Argument, Grid, Launch, Parameter
from tileiras_build.manifest.variant_assumptions import choices, conditions


def launch(minimum=None, divisible_by=1, most=0, cluster=1, name="n") -> Launch:
    param = Parameter(name=name, kind="i32", size=4, offset=0, minimum=minimum, divisible_by=divisible_by)
    grid = Grid(most=most, cluster=cluster)
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
