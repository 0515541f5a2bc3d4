"""docs/errors.md is what the index of errors says."""

from tools import errors_page


def test_the_page_is_current():
    assert errors_page.PAGE.read_text() == errors_page.page(), "run: python tools/errors_page.py"
