"""Differences of two builds: cells of metrics and sizes, new and removed kernels."""

from tileiras_build.reports.build_diff import KernelMetrics, changes, header


def measure(registers: int = 29, spills: int = 0, microseconds: float | None = None) -> KernelMetrics:
    return KernelMetrics(registers, spills, 48 << 10, 0, 458, microseconds)


def test_a_row_shows_the_old_value():
    before = {("a", "sm_90"): measure(), ("same", "sm_90"): measure(), ("gone", "sm_90"): measure()}
    now = {("a", "sm_90"): measure(40, 12), ("same", "sm_90"): measure(), ("new", "sm_90"): measure()}
    assert changes(before, now, False) == [
        ("a", "sm_90", "29 -> 40", "0 -> 12 B", "48 KiB", "0", "458"),
        ("new", "sm_90", "29", "0", "48 KiB", "0", "458"),
        ("gone", "sm_90", "29 -> removed", "0 -> removed", "48 KiB -> removed", "0 -> removed", "458 -> removed"),
    ]
    assert len(header(False)) == 7 and header(True)[-1] == "estimate"


def test_the_estimate_is_a_column_where_it_is_asked_for():
    before, now = ({("a", "sm_90"): measure(microseconds=time)} for time in (10.04, 12.5))
    assert changes(before, now, True)[0][-1] == "10.0 us -> 12.5 us"
