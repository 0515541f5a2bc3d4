"""Which files the code of a module is in, over a small package; tests/meta/test_sources.py does so over the real one."""

import pytest

from tileiras_build.core.code_digest import PackageSources, code_digest

FILES = {
    "__init__.py": "from . import everything\n",
    "pipeline/__init__.py": "from . import later\n",
    "pipeline/edge.py": "from ..core.errors import (\n    One,  # why, and (what)\n    Two,\n)\n",
    "pipeline/lazy.py": "def f():\n    if True:\n        from .common import x as other\n        from .edge import y\n",
    "pipeline/named.py": 'TABLE = {"a": "tileiras_build.ir.dialects.a:A"}\n',
    "pipeline/absolute.py": "import os, tileiras_build.core.errors as e\n",
    "pipeline/whole.py": "from .. import pipeline\n",
    "pipeline/common/__init__.py": "",
    "pipeline/later.py": "",
    "ir/dialects/a.py": "from .b import B  # tileiras_build.core.errors\n",
    "ir/dialects/b.py": "",
    "core/errors.py": "",
    "launch/packages/code.py": "",
    "launch/packages/image.c.jinja": "",
}
CODE = {
    "edge": {"pipeline/edge.py", "core/errors.py"},
    "lazy": {"pipeline/lazy.py", "pipeline/edge.py", "core/errors.py", "pipeline/common/__init__.py"},
    "named:f": {"pipeline/named.py", "ir/dialects/a.py", "ir/dialects/b.py"},
    "absolute": {"pipeline/absolute.py", "core/errors.py"},
    "whole": {"pipeline/whole.py", "pipeline/__init__.py", "pipeline/later.py", "__init__.py"},
    "missing": set(),
}


@pytest.fixture
def package(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return PackageSources(tmp_path)


@pytest.mark.parametrize("module", CODE)
def test_code_is_what_is_imported(package, module):
    assert package.code_of([f"tileiras_build.pipeline.{module}"]) == CODE[module]


def test_files_beside_the_code_belong_to_it(package):
    assert package.code_of(["tileiras_build.launch.packages.code"]) == {
        "launch/packages/code.py",
        "launch/packages/image.c.jinja",
    }


def test_modules_of_others_have_no_code_here(package):
    assert package.code_of(["numpy", "tests.fake_edges:lower"]) == set()


def test_digest_is_of_names_and_contents(package, tmp_path):
    paths = package.code_of(["tileiras_build.pipeline.edge"])
    digests = {package.digest(paths), package.digest({*paths, "ir/dialects/b.py"})}
    (tmp_path / "core/errors.py").write_text("One = 1\n")
    assert len(digests | {PackageSources(tmp_path).digest(paths)}) == 3


def test_change_after_the_first_reading_is_seen(package, tmp_path):
    package.read("core/errors.py")
    assert package.is_as_read()
    (tmp_path / "ir/dialects/b.py").write_text("B = 1\n")
    assert not package.is_as_read()


def test_digest_of_the_running_package_is_of_what_is_asked():
    names = ("tileiras_build.core.errors", "tileiras_build.core.file_io", "tileiras_build.target.targets")
    assert len({code_digest(name) for name in names} | {code_digest(*names)}) == 4
