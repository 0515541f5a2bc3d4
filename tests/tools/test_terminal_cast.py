"""The terminal of README: steps replace one another, and pauses are short; tests/documents/test_readme.py compares it with a run."""

from xml.etree import ElementTree

import pytest

from tools.terminal_cast import LONGEST_PAUSE, Line, picture, run, shorter

DOCUMENT = '```python title="a/b.txt"\nx\n```\n```console\n$ pip install .\n$ cat a/b.txt  # shown\n...\n$ echo 1; echo 2\n```\n'
LINES = [Line("$ scons", 0.5), Line("[1/2] a < b", 1.0), Line("[2/2] c", 1.5), Line("done", 2.0)]


def test_commands_run_and_files_are_written(tmp_path):
    assert [line.text for line in run(DOCUMENT, tmp_path)] == ["$ cat a/b.txt", "x", "$ echo 1; echo 2", "1", "2"]


def test_pauses_are_shortened():
    times = [line.at for line in shorter([Line("a", 3.0), Line("b", 3.1), Line("c", 60.0)])]
    assert times == pytest.approx([0.5, 0.6, 0.6 + LONGEST_PAUSE])


def test_a_step_is_replaced_by_the_next_one():
    texts = list(ElementTree.fromstring(picture(LINES)).iter("{http://www.w3.org/2000/svg}text"))
    assert [node.text for node in texts] == [line.text for line in LINES]
    first, second = texts[1:3]
    assert first.get("y") == second.get("y") != texts[3].get("y")
    assert first.get("style") == "animation:show 0.50s 1.00s" and second.get("style") == "animation:hide 1.50s"
