"""The HTML report: its inputs, and the page in a browser."""

import csv
import json
import os
import re
import shutil
import signal
from contextlib import contextmanager
from dataclasses import replace

import pytest

from tests.reports.sample_report import GPUS, NAMES, timeline, write_build
from tileiras_build.core.errors import InvalidInput
from tileiras_build.reports.build_history import History
from tileiras_build.reports.collect_rows import read_rows, remember, values_of
from tileiras_build.reports.html_report import Baseline, render_page, write_report
from tileiras_build.reports.report_csv_json import csv_text, read_baseline
from tileiras_build.reports.report_paths import details_path, history_path, page_path, timeline_path, trace_path
from tileiras_build.reports.resource_usage import read_folder

SHOWN = 200


def data_of(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


@pytest.fixture
def build(tmp_path):
    write_build(tmp_path / "build", names=NAMES[:8])
    return tmp_path / "build"


# ---- what the page is made from -----------------------------------------------------------------
def test_rows_hold_what_manifest_and_file_say(build):
    rows = read_rows(build)
    assert [(row.kernel, row.target) for row in rows] == [(name, gpu) for name in sorted(NAMES[:8]) for gpu in GPUS]
    row = rows[0]
    kernel = json.loads((build / row.target / f"{row.kernel}.json").read_text())["kernels"][row.kernel]
    assert row.registers == kernel["resources"]["registers"] and row.threads == kernel["threads_per_cta"]
    assert row.shared == kernel["shared_memory"]["dynamic"] and 0 < row.occupancy <= 100 and row.ctas >= 1
    assert row.size == (build / row.target / f"{row.kernel}.cubin").stat().st_size


def test_report_compares_with_the_last_one_that_differed(build):
    first, history = read_rows(build), History()
    assert remember(history, first, 1.0) is None
    assert remember(history, first, 2.0) is None
    write_build(build, seed=1, names=NAMES[:8])
    second = read_rows(build)
    for _ in range(2):
        assert remember(history, second, 3.0) == values_of(first)
    assert len(history.builds) == 2


def test_page_says_what_is_new_and_gone(build):
    write_report(build)
    (build / "sm_80" / f"{NAMES[0]}.cubin").unlink()
    write_build(build, names=NAMES[1:9])
    for gpu in GPUS:
        (build / gpu / f"{NAMES[0]}.cubin").unlink(missing_ok=True)
    data = data_of(write_report(build).read_text())
    assert data["compared"] and data["gone"] == sorted(f"{NAMES[0]} {gpu}" for gpu in GPUS)
    assert {row["kernel"] for row in data["rows"] if row["before"] is None} == {NAMES[8]}


def test_page_is_compared_with_a_baseline_and_forgets_no_report(build):
    write_report(build)
    history = history_path(build).read_bytes()
    rows = read_rows(build)[1:]
    baseline = Baseline("main.json", values_of(rows))
    write_build(build, seed=1, names=NAMES[:8])
    (build / "sm_120" / f"{NAMES[7]}.cubin").unlink()
    data = data_of(write_report(build, build / "page.html", baseline=baseline).read_text())
    assert data["since"] == "main.json" and data["gone"] == [f"{NAMES[7]} sm_120"]
    first, *rest = data["rows"]
    assert first["before"] is None and {
        f"{row.kernel} {row.target}": row.registers for row in rows if f"{row.kernel} {row.target}" not in data["gone"]
    } == {f"{row['kernel']} {row['target']}": row["before"]["registers"] for row in rest}
    assert history_path(build).read_bytes() == history


def test_page_needs_nothing_else(build):
    page = write_report(build).read_text()
    assert page_path(build).exists() and "@" not in re.sub(
        r"<style>.*</style>|<script.*</script>", "", page, flags=re.DOTALL
    )
    assert not re.search(r"""(?:src|href)=["']|https?://|@import|url\(""", page)


def test_trace_is_written_beside_the_page(build):
    write_report(build)
    events = json.loads(trace_path(build).read_text())["traceEvents"]
    assert len([event for event in events if event["ph"] == "X"]) == len(timeline(NAMES[:8]).spans)


def test_names_cannot_end_the_data():
    page = render_page("</script><script>alert(1)</script><!--", [], None, None)
    assert "<script>alert" not in page and data_of(page)["name"] == "</script><script>alert(1)</script><!--"


def test_build_folder_without_cubins_is_one_sentence(tmp_path):
    with pytest.raises(InvalidInput, match="no .cubin files in this folder"):
        write_report(tmp_path)


@pytest.mark.parametrize("path", [timeline_path, history_path])
def test_damaged_files_are_named_and_leave_no_page(build, path):
    path(build).parent.mkdir(exist_ok=True)
    path(build).write_text("{")
    with pytest.raises(InvalidInput, match="delete it") as caught:
        write_report(build)
    assert str(path(build)) in str(caught.value) and not page_path(build).exists()


FIRST = f"sm_80/{sorted(NAMES[:8])[0]}"


@pytest.fixture
def impatient():
    """Ends a test that waits for ever."""
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.mark.parametrize(
    "name", [f"{FIRST}{suffix}" for suffix in (".json", ".cubin", ".ptx", ".ll")] + ["timeline", "history"]
)
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(build, impatient, name):
    places = {"timeline": timeline_path(build), "history": history_path(build)}
    path = places.get(name, build / name)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(
        InvalidInput, match=r"error\[file-special\]: expected a regular file, found a pipe or device"
    ) as caught:
        write_report(build)
    assert str(path) in str(caught.value) and not page_path(build).exists()


def test_pipes_among_what_a_report_keeps_are_replaced(build, impatient):
    write_report(build)
    kept = sorted(details_path(build).glob("*"))
    assert kept
    for path in kept:
        path.unlink()
        os.mkfifo(path)
    os.mkfifo(page_path(build).with_name("other.html"))
    write_report(build)
    assert all(path.is_file() for path in kept if path.exists())


def test_a_pipe_in_the_place_of_a_manifest_is_not_waited_for(build, impatient):
    path = build / f"{FIRST}.json"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InvalidInput, match="error.file-special."):
        read_folder(build)


# ---- in a browser -------------------------------------------------------------------------------
@contextmanager
def chromium():
    """A headless Chromium: Debian's or another on PATH, else Playwright's own; skips where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no browser driver: pip install playwright")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except sync_api.Error as error:
            pytest.skip(
                f"no Chromium: apt install chromium, or playwright install chromium ({str(error).splitlines()[0]})"
            )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report of forty kernels on four GPUs, with an earlier one without three of the kernels and with five other metrics."""
    folder = tmp_path_factory.mktemp("report") / "build"
    write_build(folder, names=NAMES[:-3])
    write_report(folder)
    write_build(folder, seed=1)
    return write_report(folder)


@pytest.fixture
def page(browser, report):
    """The report, opened in a light page without a network; an error in its script fails the test."""
    opened, problems = browser.new_page(viewport={"width": 1400, "height": 900}, color_scheme="light"), []
    opened.context.set_offline(True)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.on(
        "request",
        lambda request: problems.append(request.url) if not request.url.startswith(("file:", "blob:")) else None,
    )
    opened.goto(report.as_uri())
    yield opened
    opened.close()
    assert problems == []


def column(page, number: int) -> list[str]:
    return page.locator(f"#kernels tbody tr td:nth-child({number})").all_inner_texts()


def names_shown(page) -> list[str]:
    return [text.removesuffix("new").strip() for text in column(page, 1)]


def test_every_kernel_is_listed_for_every_gpu(page):
    names = names_shown(page)
    assert sorted(names) == sorted(name for name in NAMES for _ in GPUS) and len(names) <= SHOWN
    assert column(page, 2)[:4] == list(GPUS)
    assert page.locator("#count").inner_text() == f"{len(names)} of {len(names)}"


def test_columns_sort_both_ways(page):
    for title, number in (("registers", 3), ("cubin size", 10)):
        page.locator("#kernels th button", has_text=title).click()
        data = data_of(page.content())["rows"]
        key = {"registers": "registers", "cubin size": "size"}[title]
        expected = sorted((row[key] for row in data), reverse=True)
        assert page.locator("#kernels th[aria-sort=descending]").inner_text().startswith(title)
        if key == "registers":
            assert [int(re.match(r"\d+", text)[0]) for text in column(page, number)] == expected
        page.locator("#kernels th button", has_text=title).click()
        assert page.locator("#kernels th[aria-sort=ascending]").inner_text().startswith(title)


def test_filters_narrow_the_list_together(page):
    page.fill("#filter", "SOFTMAX")
    assert set(names_shown(page)) == {name for name in NAMES if "softmax" in name}
    page.click('[data-gpu="sm_90"]')
    assert set(column(page, 2)) == set(GPUS) - {"sm_90"}
    page.fill("#filter", "nothing of this name")
    assert names_shown(page) == ["No kernels match."]


def test_only_spilling_or_changed_kernels(page):
    rows = data_of(page.content())["rows"]
    spilling = [row["kernel"] for row in rows if row["spill_stores"]]
    page.click("#only-spills")
    assert sorted(names_shown(page)) == sorted(spilling) and spilling
    page.click("#only-spills")
    page.click("#only-changed")
    shown = names_shown(page)
    assert set(NAMES[-3:]) <= set(shown) < set(NAMES)
    assert page.locator(".delta.new").count() == 3 * len(GPUS)
    assert page.locator(".delta.worse").count() > 0 and page.locator(".delta.better").count() > 0


def test_kernels_that_are_gone_are_named(browser, build):
    write_report(build)
    write_build(build, names=NAMES[:8])
    (build / "sm_120" / f"{NAMES[7]}.cubin").unlink()
    opened = browser.new_page()
    opened.goto(write_report(build).as_uri())
    opened.click("#gone summary")
    assert opened.locator("#gone").inner_text().split("\n") == [
        "1 row of the last report removed",
        f"{NAMES[7]} sm_120",
    ]
    opened.close()


def test_matrix_has_a_row_per_kernel_and_a_column_per_gpu(page):
    page.click("#view-matrix")
    assert [text.strip() for text in page.locator("#kernels thead th").all_inner_texts()] == ["kernel", *GPUS]
    assert sorted(names_shown(page)) == sorted(NAMES)
    page.select_option("#metric", "occupancy")
    assert all(re.match(r"[\d.]+ %", text) for text in column(page, 2))
    page.locator("#kernels th button", has_text="sm_90").click()
    assert page.locator("#kernels th[aria-sort=descending]").inner_text().startswith("sm_90")


def test_timeline_is_drawn_zoomed_and_clicked(page):
    canvas = page.locator("canvas")
    canvas.scroll_into_view_if_needed()
    ink = "document.querySelector('canvas').toDataURL()"
    whole, box = page.evaluate(ink), canvas.bounding_box()
    page.mouse.move(box["x"] + 400, box["y"] + 26 + 11)
    assert page.locator("#tip").inner_text().count("·") >= 2
    page.mouse.wheel(0, -600)
    page.wait_for_function(f"{ink} !== {json.dumps(whole)}")
    page.click("#reset")
    page.mouse.move(box["x"] + 500, box["y"] + 26 + 22 * 7 + 14)
    kernel = page.locator("#tip").inner_text().split(" · ")[1]
    page.mouse.down()
    page.mouse.up()
    assert page.input_value("#filter") == kernel and kernel in names_shown(page)


def test_stages_can_be_hidden_and_are_summed_up(page):
    stages = [row[0] for row in (text.split("\t") for text in page.locator("#by-stage tbody tr").all_inner_texts())]
    assert stages == ["tileaa", "tileas", "ll", "ptx", "cubin"]
    assert page.locator("#slowest tbody tr").count() == 10
    page.click('[data-stage="cubin"]')
    assert "cubin" not in page.locator("#slowest tbody").inner_text()


def test_summary_counts_and_filters(page):
    spilling = len([row for row in data_of(page.content())["rows"] if row["spill_stores"]])
    tiles = page.locator(".tile")
    assert tiles.nth(0).inner_text().startswith("40 kernels")
    assert tiles.nth(1).locator("b").inner_text() == str(spilling)
    assert "12 new" in tiles.nth(2).inner_text()
    tiles.nth(1).click()
    assert page.locator("#kernels tbody tr").count() == spilling


def test_chrome_trace_is_saved_from_the_page(page, tmp_path):
    with page.expect_download() as download:
        page.click("#trace")
    download.value.save_as(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == len(timeline().spans) and {event["ph"] for event in events} == {"X"}


def saved(page, button: str, path) -> str:
    with page.expect_download() as download:
        page.click(button)
    download.value.save_as(path)
    return path.read_text()


def test_saved_json_is_a_baseline_of_all_rows(page, report, tmp_path):
    page.fill("#filter", "softmax")
    saved(page, "#save-json", tmp_path / "rows.json")
    assert read_baseline(tmp_path / "rows.json") == read_rows(report.parents[1])


def test_saved_csv_has_the_cells_of_the_command(page, report, tmp_path):
    found, expected = (
        list(csv.reader(text.splitlines()))
        for text in (saved(page, "#save-csv", tmp_path / "rows.csv"), csv_text(read_rows(report.parents[1])))
    )
    # A whole number of percent is 50 here and 50.0 there.
    same = lambda cells: [re.sub(r"\.0$", "", cell) for cell in cells]
    assert list(map(same, found)) == list(map(same, expected))


AWKWARD = 'scale<float, "50%">'


@pytest.fixture(scope="module")
def awkward(tmp_path_factory):
    """A report of a kernel whose name has everything that addresses and CSV quote, and one with a longer name."""
    folder = tmp_path_factory.mktemp("awkward")
    write_build(folder, names=NAMES[:1], gpus=GPUS[:2])
    rows = [replace(row, kernel=name) for row in read_rows(folder) for name in (AWKWARD, f"{AWKWARD} more")]
    (folder / "page.html").write_text(render_page("build", rows, None, None))
    return folder / "page.html"


def test_names_that_need_quotes_are_saved_whole(browser, awkward, tmp_path):
    opened = browser.new_page()
    opened.goto(awkward.as_uri())
    lines = list(csv.reader(saved(opened, "#save-csv", tmp_path / "rows.csv").splitlines()))
    opened.close()
    assert [line[0] for line in lines[1:]] == 2 * [AWKWARD, f"{AWKWARD} more"]


def test_a_link_shows_one_kernel(browser, awkward):
    opened = browser.new_page()
    opened.goto(awkward.as_uri())
    opened.locator("#kernels td.name a", has_text=re.compile(f"^{re.escape(AWKWARD)}$")).first.click()
    opened.locator("#only-kernel").wait_for()
    assert names_shown(opened) == [AWKWARD, AWKWARD]
    address = opened.url
    opened.click("#only-kernel")
    assert len(names_shown(opened)) == 4 and opened.locator("#only-kernel").is_hidden()
    opened.goto("about:blank")
    opened.goto(address)
    assert names_shown(opened) == [AWKWARD, AWKWARD]
    opened.go_back()
    opened.goto(f"{awkward.as_uri()}#kernel=gone%")
    assert names_shown(opened) == ["No kernels match."]
    assert opened.locator("#only-kernel").inner_text().startswith("gone% ")
    opened.close()


@pytest.mark.parametrize("width", [500, 1600])
def test_names_stay_in_sight_and_nothing_hangs_over(browser, report, width):
    opened = browser.new_page(viewport={"width": width, "height": 900})
    opened.goto(report.as_uri())
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    opened.evaluate("document.querySelector('.scroll').scrollBy(10000, 300)")
    table, name = opened.locator(".scroll").bounding_box(), opened.locator("#kernels td.name").nth(20).bounding_box()
    title = opened.locator("#kernels thead th").first.bounding_box()
    opened.close()
    assert abs(name["x"] - table["x"]) < 2 and name["width"] < width / 2
    assert abs(title["x"] - table["x"]) < 2 and abs(title["y"] - table["y"]) < 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_light_and_dark(browser, report, scheme):
    """Contrast of at least 4.5 to 1 for everything that is read (WCAG 2.1, 1.4.3)."""
    opened = browser.new_page(color_scheme=scheme)
    opened.goto(report.as_uri())
    colors = opened.evaluate(
        """() => { const style = getComputedStyle(document.documentElement);
        return Object.fromEntries(["page", "card", "ink", "soft", "accent", "on-accent", "worse", "better", "worse-back",
          "better-back", "chosen", "missed", "string", "number", "keyword", "value", "op"].map((name) => [name, style.getPropertyValue("--" + name).trim()])); }"""
    )
    opened.close()
    pairs = [("ink", "page"), ("ink", "card"), ("soft", "page"), ("soft", "card"), ("accent", "card"), ("worse", "card"),
             ("better", "card"), ("on-accent", "accent"), ("worse", "worse-back"), ("better", "better-back"),
             *((token, ground) for token in TOKENS for ground in ("page", "chosen"))]  # fmt: skip
    assert {pair: round(contrast(colors[pair[0]], colors[pair[1]]), 1) for pair in pairs
            if contrast(colors[pair[0]], colors[pair[1]]) < 4.5} == {}  # fmt: skip
    assert (luminance(colors["page"]) > luminance(colors["ink"])) == (scheme == "light")


TOKENS = ("missed", "string", "number", "keyword", "value", "op")


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def luminance(color: str) -> float:
    """Relative luminance of "#rrggbb" (WCAG 2.1, "relative luminance")."""
    parts = [int(color[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_theme_button_switches(page):
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert page.locator("#theme").inner_text() == "Light"
