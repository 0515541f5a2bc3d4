"""Names of files in a project hold in another copy of it."""

import pytest

from tileiras_build.core.tracing.portable_paths import PortablePaths

HERE, THERE = PortablePaths("/home/a/project", "/home/a/env"), PortablePaths("/srv/build", "/usr")
NAMES = {
    "/home/a/project/kernels/k.py": ("#/kernels/k.py", "/srv/build/kernels/k.py"),
    "/home/a/project": ("#/", "/srv/build"),
    "/home/a/env/lib/x.py": ("python:/lib/x.py", "/usr/lib/x.py"),
    "/home/a/projects/k.py": ("/home/a/projects/k.py", "/home/a/projects/k.py"),
    "/etc/x": ("/etc/x", "/etc/x"),
}


@pytest.mark.parametrize("path", NAMES)
def test_a_name_leads_to_the_same_file_elsewhere(path):
    name, elsewhere = NAMES[path]
    assert HERE.name(path) == name
    assert HERE.path(name) == path
    assert THERE.path(name) == elsewhere


def test_an_environment_inside_the_project_is_the_environment():
    places = PortablePaths("/p", "/p/.venv")
    assert places.name("/p/.venv/lib/x.py") == "python:/lib/x.py"
    assert PortablePaths("/q", "/opt/env").path("python:/lib/x.py") == "/opt/env/lib/x.py"


def test_what_lies_above_the_project():
    assert HERE.any_below("/home/a") and HERE.any_below("/home/a/project") and HERE.any_below("/")
    assert not HERE.any_below("/home/a/project/kernels") and not HERE.any_below("/home/ab")
