"""A stage's signature covers the code that makes the artifact: every module its edge needs is among its sources."""

import pytest

from tests.meta.import_graph import closure, module_files
from tileiras_build.pipeline.stages import PACKAGE, STAGES, source_files

# Names and rows only; what they name is looked up here.
TABLE = "tileiras_build.pipeline.stages"


# They write artifacts and dumps, and have no part in what is written.
CHANGES_NO_BYTE = ("__init__.py", "files.py", "private_folder.py")
EDGES = list(zip((None, *STAGES), STAGES, strict=False))


@pytest.mark.parametrize(("source", "stage"), EDGES, ids=lambda stage: stage and stage.name)
def test_sources_cover_the_edge(source, stage):
    functions = [stage.edge, stage.render, source.parse if source else None]
    modules = [function.partition(":")[0] for function in functions if function]
    needed = {module_files()[module] for module in closure(*modules) - {TABLE}}
    missing = needed - set(source_files(stage)) - {PACKAGE / name for name in CHANGES_NO_BYTE}
    assert sorted(str(path.relative_to(PACKAGE)) for path in missing) == []
