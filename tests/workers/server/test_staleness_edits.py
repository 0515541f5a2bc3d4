"""A server never runs loaded code that differs from what a new process would load."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from tests.build.input_edits import in_place, renamed, write
from tests.package_copy import copy_package
from tests.workers.server.server_sandbox import Site
from tileiras_build.workers.server import environment_fingerprint, list_servers, run_on_server, wire_protocol


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    package = copy_package(folder / "package/tileiras_build")
    made = Site(folder / "here", package)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(made.run_folder))
        yield made
        made.close()


def _upgrade(folder: Path) -> None:
    (folder / "a_library-1.0.dist-info").rename(folder / "a_library-2.0.dist-info")


def _one_letter(name: str):
    """An edit that keeps size and times."""

    def change(folder: Path) -> None:
        path = folder / name
        in_place(name, path.read_text().replace("e", "a", 1))(folder)

    return change


# What the library says after each; None: as before, for the rows share a site, whichever of them come first.
CHANGES = {
    "a library's file": (write("a_library.py", "VALUE = 2\n"), 2),
    "with its size and times": (in_place("a_library.py", "VALUE = 3\n"), 3),
    "another file in its place": (renamed("a_library.py", "VALUE = 4\n"), 4),
    "a package that hides the library": (write("a_library/__init__.py", "VALUE = 5\n"), 5),
    "a library that is upgraded": (_upgrade, None),
    "a new library": (write("another-1.0.dist-info/METADATA", ""), None),
    "code at Python's start": (write("sitecustomize.py", "import builtins\n"), None),
    "the project's own code": (_one_letter("tileiras_build/core/version.py"), None),
    "a new module of the project": (write("tileiras_build/server/new.py", ""), None),
    "code that no server has loaded": (_one_letter("tileiras_build/core/symbols/c_identifiers.py"), None),
}


@pytest.mark.parametrize(("change", "value"), CHANGES.values(), ids=list(CHANGES))
def test_a_change_ends_the_server(site, change, value):
    old = site.warm()
    # They are from before the change.
    assert site.spares(old["server"])
    change(site.libraries)
    # The command itself answers, or a server that has begun after the change.
    assert site.ask()["server"] != old["server"]
    new = site.warm()
    assert new["value"] == (old["value"] if value is None else value)
    assert new["server"] != old["server"]


def test_a_module_that_nothing_has_asked_for_changes_nothing(site):
    old = site.warm()
    write("a_kernel.py", "")(site.libraries)
    assert site.ask()["server"] == old["server"]


def test_a_client_that_says_its_word_late_gets_no_old_code(site):
    server = site.warm()["server"]
    (name,) = [found.name for found in list_servers.find_servers() if found.process == server]
    folder = environment_fingerprint.open_folder()
    try:
        with closing(run_on_server.connect(folder, name)) as late:
            # It holds nobody up.
            assert site.ask()["server"] == server
            with open(site.libraries / "an_image.py", "a") as image:
                image.write("# later\n")
            wire_protocol.send(late, ["run"])
            assert wire_protocol.receive(late)[0][0][0] == "changed"
    finally:
        os.close(folder)
