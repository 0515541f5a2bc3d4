"""A kernel's part of the report: in the page of all, or a page of its own; looked at and clicked in a browser."""

import json
import re
from pathlib import Path

import pytest

from tests.estimated_kernel import GRID, SETTINGS
from tests.reports.lined_kernel import KERNEL, LINE, SOURCE, write_lined
from tests.reports.sample_report import NAMES, write_build
from tests.reports.test_html_report import AWKWARD, browser, data_of  # noqa: F401  (a fixture)
from tileiras_build.cli.dispatch import main
from tileiras_build.core.errors import InvalidInput
from tileiras_build.reports import html_report as pages
from tileiras_build.reports.collect_rows import EstimateProblems
from tileiras_build.reports.html_report import ReportForm, file_name, write_report
from tileiras_build.reports.render_templates import KERNEL as TEMPLATE
from tileiras_build.reports.render_templates import render
from tileiras_build.reports.report_paths import page_path
from tileiras_build.reports.source_files import MAX_SOURCE_BYTES, SourceFiles
from tileiras_build.simulate.estimate.estimate_kernel import Problem

OWN = ReportForm(pages=True)
HURTFUL = '</pre></script><script>window.hurt = 1</script><img src=x onerror="window.hurt = 1"> & &amp; \'"'


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    write_lined(folder)
    source = folder / SOURCE
    source.write_text(f"{source.read_text()}# {HURTFUL}\n")
    return folder


@pytest.fixture
def build(project, monkeypatch):
    monkeypatch.chdir(project)
    return project / "build"


@pytest.fixture
def opened(browser):  # noqa: F811
    """Opens an address without a network; an error in a script fails the test."""
    page, problems = browser.new_page(viewport={"width": 1600, "height": 1000}), []
    page.context.set_offline(True)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    yield page
    assert problems == [] and page.evaluate("window.hurt") is None
    page.close()


def test_each_kernel_has_a_page_and_pages_of_others_go(tmp_path):
    write_build(tmp_path, names=NAMES[:3], gpus=("sm_90",))
    page = write_report(tmp_path, form=OWN)
    folder = page.with_name("index_kernels")
    assert data_of(page.read_text())["pages"] == {name: f"index_kernels/{name}.html" for name in NAMES[:3]}
    assert {path.stem for path in folder.iterdir()} == set(NAMES[:3]) and "script" not in page.read_text().split(
        "</html>"
    )[1]
    (folder / "mine.html").write_text("mine")
    (tmp_path / f"sm_90/{NAMES[0]}.cubin").unlink()
    write_report(tmp_path, form=OWN)
    assert {path.stem for path in folder.iterdir()} == {"mine", *NAMES[1:3]}
    write_report(tmp_path)
    assert {path.stem for path in folder.iterdir()} == {"mine"}


def test_any_name_is_a_file_s():
    names = [file_name(name) for name in ("k", AWKWARD, f"{AWKWARD} ", "a/b", "x" * 300)]
    assert names[0] == "k.html" and len(set(names)) == 5
    assert all(re.fullmatch(r"[\w.-]{1,100}", name) for name in names)


def test_one_file_is_limited_and_says_so(tmp_path, monkeypatch):
    write_build(tmp_path, names=NAMES[:3], gpus=("sm_90",))
    whole = write_report(tmp_path).read_text()
    assert whole.count('class="packed"') == 3 and "pages=yes" not in whole
    monkeypatch.setattr(pages, "PACKED_LIMIT", 1)
    limited = write_report(tmp_path).read_text()
    assert limited.count('class="packed"') == 0 and "Code views of 3 kernels omitted" in limited


def test_sources_outside_of_the_folder_are_not_shown(tmp_path):
    inside, bytecode = tmp_path / "project", tmp_path / "k.tilebc"
    inside.mkdir()
    (tmp_path / "secret.py").write_text("secret")
    (inside / "link.py").symlink_to(tmp_path / "secret.py")
    (inside / "binary.py").write_bytes(b"\xff\xfe")
    (inside / "large.py").write_bytes(b" " * (MAX_SOURCE_BYTES + 1))
    (inside / "k.py").write_text("shown")
    files = SourceFiles(inside)
    hidden = ("../secret.py", str(tmp_path / "secret.py"), "link.py", "binary.py", "large.py", "gone.py", ".", "a\0b")
    assert [files.read(name, bytecode).text for name in hidden] == [None] * len(hidden)
    assert files.read("k.py", bytecode).text == "shown"


def test_a_line_of_the_source_leads_to_machine_code_and_back(opened, build):
    opened.goto(f"{write_report(build, form=OWN).with_name('index_kernels').as_uri()}/{KERNEL}.html")
    left, right = opened.locator(".pane").nth(0), opened.locator(".pane").nth(1)
    left.locator(".line").nth(LINE - 1).click()
    chosen = right.locator(".line.chosen").all_inner_texts()
    assert any("STG" in line for line in chosen) and all(line.split()[1] == str(LINE) for line in chosen)
    assert opened.url.endswith(f"#gpu=sm_90&line={LINE}")
    left.locator("select").select_option("ptx")
    right.locator(".line", has_text="STG").first.click()
    [ptx] = left.locator(".line.chosen").all_inner_texts()
    assert "st.global" in ptx and "1 line of PTX" in opened.locator(".panes [role=status]").inner_text()
    left.locator("select").select_option("source-0")
    assert [line.split()[0] for line in left.locator(".line.chosen").all_inner_texts()] == [str(LINE)]


def test_missed_optimizations_have_advice_and_mark_their_lines(opened, build):
    opened.goto(write_report(build).as_uri())  # one kernel, which is open
    row = opened.locator(".advice tr", has_text="TMA not used for this store")
    assert f"{Path(SOURCE).name}:{LINE}" in row.inner_text() and "Promise stride_divisible_by" in row.inner_text()
    assert f"{LINE}" in [text.strip("●\n ") for text in opened.locator(".line.missed .no").all_inner_texts()]
    row.locator(".place").click()
    assert opened.locator(".is-source .line.chosen .no").inner_text().strip("●\n ") == str(LINE)
    opened.locator("details.by-line summary").click()
    assert "Store instruction selected" in opened.locator("details.by-line").inner_text()
    assert all(opened.locator(f".token.{kind}").count() for kind in ("comment", "string", "keyword", "value", "op"))


def test_every_stage_can_be_chosen_and_leads_to_the_source(opened, build):
    opened.goto(f"{write_report(build).as_uri()}#kernel={KERNEL}&gpu=sm_90&line={LINE}")
    right = opened.locator(".pane").nth(1)
    titles = right.locator("option").all_inner_texts()
    assert titles == [SOURCE, "bytecode (MLIR)", "tileaa", "tileas", "LLVM IR", "PTX", "SASS"]
    for title in titles[1:]:
        right.locator("select").select_option(title)
        assert right.locator(".line.chosen").count() > 0, title


def test_what_sources_and_names_hold_is_text(opened, build):
    opened.goto(f"{write_report(build).as_uri()}#kernel={KERNEL}")
    opened.locator(".pane").first.wait_for()
    assert opened.locator(".pane").first.locator(".line").last.locator("code").inner_text() == f"# {HURTFUL}"
    opened.goto(f"{write_report(build, form=OWN).with_name('index_kernels').as_uri()}/{KERNEL}.html")
    assert opened.locator(".pane").first.locator(".line").last.locator("code").inner_text() == f"# {HURTFUL}"
    assert HURTFUL not in page_path(build).with_name("index_kernels").joinpath(f"{KERNEL}.html").read_text()
    text = render(TEMPLATE, kernel={"name": HURTFUL, "library": HURTFUL, "sources": [], "gpus": []})
    assert "<script" not in text and "<img" not in text


def test_without_source_lines_the_page_says_how_to_get_them(opened, tmp_path, monkeypatch):
    from tests.estimated_kernel import write_vector_add

    write_vector_add(tmp_path)
    monkeypatch.chdir(tmp_path)
    opened.goto(f"{write_report(tmp_path).as_uri()}#kernel={KERNEL}")
    opened.locator(".pane").first.wait_for()
    said = opened.locator("#kernel").inner_text()
    assert "build with lineinfo=yes" in said and "Bytecode not found in the build folder." in said


def test_estimates_are_bars_of_which_one_is_the_limit(opened, build):
    problems = EstimateProblems(Problem.read(SETTINGS, GRID))
    opened.goto(f"{write_report(build, problems=problems).as_uri()}#kernel={KERNEL}")
    rows = opened.locator(".bounds tr")
    rows.first.wait_for()
    widths = [rows.nth(n).locator(".length").bounding_box()["width"] for n in range(rows.count())]
    assert widths == sorted(widths, reverse=True) and widths[0] > widths[-1]
    assert [text.endswith("limiter") for text in rows.all_inner_texts()] == [True] + [False] * (len(widths) - 1)
    assert data_of(opened.content())["rows"][0]["estimate_limit"] in rows.first.inner_text()


def test_builds_are_named_and_compared_with(opened, build, capsys):
    page = str(build.parent / "named.html")
    assert main(["report", str(build), "--html", page, "--keep", "v1"]) == 0
    manifest = build / f"sm_90/{KERNEL}.json"
    whole = manifest.read_text()
    document = json.loads(whole)
    document["kernels"][KERNEL]["resources"]["registers"] += 1
    manifest.write_text(json.dumps(document))
    try:
        capsys.readouterr()
        assert main(["report", str(build), "--against", "v1"]) == 0
        assert " -> " in capsys.readouterr().out
        assert main(["report", str(build), "--html", page, "--against", "v1"]) == 0
        assert data_of(Path(page).read_text())["since"] == "v1"
        assert main(["report", str(build), "--html", page]) == 0
        assert main(["report", str(build), "--against", "v7"]) == 1
        assert "use one of v1" in capsys.readouterr().err
    finally:
        manifest.write_text(whole)
    opened.goto(f"file://{page}#kernel={KERNEL}")
    opened.locator(".history polyline").wait_for()
    assert opened.locator(".history tbody b").inner_text() == "v1" and opened.locator(".history td.other").count() == 1


@pytest.mark.parametrize("words", [["--pages"], ["--keep", "v1"]])
def test_what_only_pages_have_is_refused_without_one(build, capsys, words):
    assert main(["report", str(build), *words]) == 1
    assert "error[report-html]" in capsys.readouterr().err


@pytest.mark.parametrize(("width", "scheme"), [(500, "light"), (500, "dark"), (1600, "light"), (1600, "dark")])
def test_nothing_hangs_over(browser, build, width, scheme):  # noqa: F811
    problems = EstimateProblems(Problem.read(SETTINGS, GRID))
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(f"{write_report(build, problems=problems, form=OWN).with_name('index_kernels').as_uri()}/{KERNEL}.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    left, right = (page.locator(".pane").nth(n).bounding_box() for n in range(2))
    assert (right["y"] > left["y"]) == (width == 500)
    assert max(left["x"] + left["width"], right["x"] + right["width"]) <= width
    page.close()


def test_damaged_build_leaves_no_page(tmp_path):
    with pytest.raises(InvalidInput):
        write_report(tmp_path, form=OWN)
    assert list(tmp_path.rglob("*.html")) == []


def test_a_part_is_made_anew_where_something_in_it_is_another_one(build, monkeypatch):
    from tileiras_build.reports import kernel_section_cache

    made = []
    monkeypatch.setattr(
        kernel_section_cache, "render", lambda *_, kernel: made.append(kernel.name) or render(TEMPLATE, kernel=kernel)
    )
    write_report(build)
    for path in (build / f"sm_90/{KERNEL}.ptx", build / f"sm_90/{KERNEL}.json", build.parent / SOURCE):
        made.clear()
        write_report(build)
        assert made == []
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b'"stack": 0', b'"stack": 8') + b"\n")
        write_report(build)
        path.write_bytes(whole)
        assert made == [KERNEL], path
        write_report(build)
