"""No pass is forgotten: each one that a file defines is in its edge's list, has a name of its own and a summary."""

from importlib import import_module

import pytest

from tests.meta.import_graph import module_files, needed_by
from tileiras_build.pipeline.opt import registry
from tileiras_build.pipeline.pass_manager import EdgePass, pass_conditions
from tileiras_build.pipeline.stages import STAGES

EDGES = sorted({stage.edge.partition(":")[0] for stage in STAGES[1:]})


def defined_passes(edge: str) -> dict[str, type]:
    modules = [import_module(name) for name in module_files() if name.startswith(edge)]
    return {
        value.__name__: value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, EdgePass) and value.__module__ == module.__name__
    }


@pytest.mark.parametrize("edge", EDGES)
def test_every_pass_runs(edge):
    stage = next(stage for stage in STAGES if stage.edge and stage.edge.startswith(edge))
    # Those that no edge needs run by name, over IR that an engineer wrote.
    listed = {entry if isinstance(entry, type) else type(entry) for entry in stage.passes} | set(registry().values())
    assert {name for name, value in defined_passes(edge).items() if value not in listed} == set()


@pytest.mark.parametrize("edge", EDGES)
def test_no_pass_needs_a_later_one(edge):
    """What several passes must know is asked in pipeline/analysis. Those of pipeline/common run in several edges."""
    stage = next(stage for stage in STAGES if stage.edge and stage.edge.startswith(edge))
    modules = [entry.__module__ for entry in stage.passes if entry.__module__.startswith(edge)]
    later = {module: needed_by(module) & set(modules[place:]) - {module} for place, module in enumerate(modules)}
    assert {module: names for module, names in later.items() if names} == {}


def test_names_are_unique_and_passes_say_what_they_do():
    # An edge may run a pass that another one runs too.
    passes = {entry for stage in STAGES for entry in stage.passes}
    names = [entry.name for entry in passes]
    assert sorted(names) == sorted(set(names))
    assert [entry.name for entry in passes if not (entry.__doc__ or "").strip()] == []


def test_every_pass_says_what_it_takes_and_gives():
    said = {name: pass_conditions(entry).keys() for name, entry in registry().items()}
    assert [name for name, parts in said.items() if parts != {"In", "Out"}] == []
