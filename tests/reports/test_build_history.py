"""The history of builds: baselines, labels, and its limited size."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.reports.build_history import LIMIT, METRICS, History, read_history, write_history
from tileiras_build.reports.history_view import view_history


def values(registers: int, microseconds: float | None = None) -> tuple:
    return (registers, *(0 for _ in METRICS[1:-1]), microseconds)


def test_a_build_is_added_where_a_number_differs():
    history = History()
    for number, registers in enumerate((32, 32, 40, 40, 32)):
        history.add({"k sm_90": values(registers)}, float(number))
    assert [one.when for one in history.builds] == [0, 2, 4]
    assert history.of("k sm_90") == [values(32), values(40), values(32)] and history.before() == 1
    assert history.of("other sm_90") == [None, None, None]


def test_kernels_come_and_go():
    history = History()
    history.add({"a sm_90": values(1)}, 0)
    history.add({"b sm_90": values(2)}, 1)
    history.add({"a sm_90": values(1), "b sm_90": values(2)}, 2)
    assert history.of("a sm_90") == [values(1), None, values(1)] and history.of("b sm_90") == [
        None,
        values(2),
        values(2),
    ]
    assert history.at(1) == {"b sm_90": values(2)}


def test_names_are_kept_and_another_name_is_another_build():
    history = History()
    history.add({"k sm_90": values(1)}, 0, name="v1")
    history.add({"k sm_90": values(1)}, 1)
    history.add({"k sm_90": values(1)}, 2, name="v2")
    assert [one.name for one in history.builds] == ["v1", "v2"] and history.before() is None
    assert history.named("v2") == 1 and history.named("v3") is None


def test_only_estimates_of_one_problem_are_compared():
    history = History()
    history.add({"k sm_90": values(1, 10.0)}, 0, "grid 1")
    history.add({"k sm_90": values(2, 20.0)}, 1, "grid 2")
    assert history.comparable(0) == {"k sm_90": values(1)} and history.at(0) == {"k sm_90": values(1, 10.0)}
    history.add({"k sm_90": values(2, 11.0)}, 2, "grid 1")
    assert len(history.builds) == 2 and history.comparable(0) == {"k sm_90": values(1, 10.0)}
    history.add({"k sm_90": values(2)}, 3)
    assert history.of("k sm_90")[1] == values(2, 11.0)


def test_the_oldest_without_a_name_go_first():
    history = History()
    for number in range(LIMIT + 5):
        history.add(
            {"k sm_90": values(number), "same sm_90": values(7)}, float(number), name="v" if number == 1 else None
        )
    assert len(history.builds) == LIMIT and [one.when for one in history.builds][:3] == [1, 6, 7]
    assert [one[0] for one in history.of("k sm_90")] == [1, *range(6, LIMIT + 5)]
    assert history.rows["same sm_90"] == [(0, values(7))]


def test_it_is_read_as_it_was_written(tmp_path):
    history = History()
    history.add({"k sm_90": values(1, 2.5)}, 0.5, "grid 1", "v1")
    history.add({}, 1.5)
    write_history(history, tmp_path / "history.json")
    assert read_history(tmp_path / "history.json") == history


DAMAGED = [
    "{", "[]", '{"version": 1}', '{"version": 2, "rows": {"k": [[3, null]]}}', '{"version": 2, "builds": [{"when": 1e300}]}',
    '{"version": 2, "builds": [{"when": 1}], "rows": {"k": [[0, [1, 2]]]}}', "[" * 100_000,
    '{"version": 2, "builds": [{"when": 1}, {"when": 2}], "rows": {"k": [[1, null], [0, null]]}}',
]  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_files_are_refused(tmp_path, text):
    (tmp_path / "history.json").write_text(text)
    with pytest.raises(InvalidInput, match="delete it"):
        read_history(tmp_path / "history.json")


def test_the_table_has_builds_in_which_a_kernel_changed_and_named_ones():
    history = History()
    for number, (mine, other) in enumerate(((32, 1), (32, 2), (48, 2), (48, 3), (40, 3))):
        name = "release" if number == 3 else None
        history.add({"k sm_90": values(mine), "other sm_90": values(other)}, float(number), name=name)
    view = view_history(history, "k sm_90")
    assert [row.cells[0].text for row in view.rows] == ["40", "48", "48", "32"] and view.builds == 5
    assert [row.cells[0].changed for row in view.rows] == [True, False, True, False]
    assert [row.title for row in view.rows if row.named] == ["release"]
    assert [title for title, trend in zip(view.titles, view.trends) if trend] == ["registers"]
    assert view.trends[0].description == "from 32 to 40, lowest 32, highest 48"


def test_one_build_has_no_history():
    history = History()
    history.add({"k sm_90": values(1)}, 0)
    assert view_history(history, "k sm_90") is None
