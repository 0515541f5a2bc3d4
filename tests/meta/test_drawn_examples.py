"""Properties are tested with the same examples whatever else a process has imported."""

from hypothesis.internal.conjecture import providers

from tileiras_build.target import targets


def test_constants_of_the_sources_are_not_drawn():
    assert targets.__file__ and len(providers._get_local_constants()) == 0
