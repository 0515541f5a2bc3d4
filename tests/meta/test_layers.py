"""What each folder of the package may import, and what must not see the compiler does not."""

import pytest

from tests.meta.import_graph import circles, imports_of, is_type_only, module_files

EVERYTHING = "everything"
# Folder of the package -> what it may import besides itself: folders, or single modules of one. What its ``__init__`` says in words.
MAY_IMPORT: dict[str, str] = {
    "core": "",
    "target": "core",
    "manifest": "core target",
    "libdevice": "core",
    "ir": "core target",
    "frontend": "core target ir",
    "pipeline": "core target manifest libdevice ir frontend",
    "simulate": "core target manifest ir",
    "launch": "core target manifest",
    "workers": "core pipeline.stages pipeline.job pipeline.tile_ir_text_format driver",
    "config": "core target pipeline workers frontend.tilecpp launch.packages",
    "driver": "core target manifest libdevice ir frontend pipeline simulate launch workers config",
    "cutile": "core target manifest frontend pipeline launch simulate workers driver",
    "verify": "core target manifest ir frontend simulate driver",
    "tuning": "core target manifest ir frontend simulate launch verify driver cutile",
    "reports": "core target manifest libdevice ir pipeline simulate driver",
    "build": "core target manifest libdevice ir frontend pipeline simulate launch workers config driver cutile verify tuning reports",
    "cli": EVERYTHING,
    "__main__": "cli",
}
MODULES = sorted(module for module in module_files() if module != "tileiras_build")


def folder(module: str) -> str:
    return module.split(".")[1]


def may_import(module: str, imported: str) -> bool:
    allowed = MAY_IMPORT[folder(module)]
    inner = imported.partition(".")[2]
    return (
        allowed == EVERYTHING
        or folder(imported) == folder(module)
        or any(inner == name or inner.startswith(f"{name}.") for name in allowed.split())
    )


@pytest.mark.parametrize("name", MAY_IMPORT)
def test_a_folder_imports_what_it_may(name):
    modules = [module for module in MODULES if folder(module) == name]
    assert modules
    found = {(module, imported) for module in modules for imported in imports_of(module)}
    assert [pair for pair in sorted(found) if not may_import(*pair) and not is_type_only(*pair)] == []


def test_the_root_holds_folders_and_three_modules():
    root = module_files()["tileiras_build"].parent
    assert {path.name for path in root.glob("*.py")} == {"__init__.py", "__main__.py", "driver.py"}
    assert {path.name for path in root.iterdir() if path.is_dir() and path.name != "__pycache__"} == {*MAY_IMPORT} - {
        "driver",
        "__main__",
    }


def test_layouts_see_no_ir():
    for module in MODULES:
        if module.startswith("tileiras_build.ir.layouts"):
            text = module_files()[module].read_text()
            assert "import xdsl" not in text and "from xdsl" not in text, module
            assert {folder(imported) for imported in imports_of(module) if "ir.layouts" not in imported} <= {
                "core",
                "target",
            }, module


def test_emulator_and_launchers_share_nothing_with_the_compiler():
    for module in MODULES:
        if module.startswith(("tileiras_build.simulate.emulator", "tileiras_build.launch.runtime")):
            assert {folder(imported) for imported in imports_of(module)} <= {
                "core",
                "target",
                "manifest",
                folder(module),
            }, module


PIPELINE, VERIFIERS = "tileiras_build.pipeline.", "tileiras_build.pipeline.verifiers"
# What docs/testing.md says that verifiers share with the compiler, beside dialects, layouts and limits of GPUs.
SHARED_WITH_VERIFIERS = {
    "tma_stores": {"analysis.disjoint_stores"},
    "layout_conversions": {"analysis.convert_layout_op_plans", "common.llvm_element_types"},
    "shared_memory_allocation": {"common.llvm_element_types"},
}


def test_verifiers_share_no_code_with_passes():
    found = {
        module.removeprefix(f"{VERIFIERS}."): {
            imported.removeprefix(PIPELINE)
            for imported in imports_of(module)
            if imported.startswith(PIPELINE) and not imported.startswith(VERIFIERS)
        }
        for module in MODULES
        if module.startswith(VERIFIERS) or module.endswith("_verifier") and module.startswith(PIPELINE)
    }
    assert {name: shared for name, shared in found.items() if shared} == SHARED_WITH_VERIFIERS


def test_no_modules_import_each_other_in_a_circle():
    assert circles() == []
