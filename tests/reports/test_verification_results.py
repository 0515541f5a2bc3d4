"""The report shows the results of reference comparisons as long as they apply to the current code."""

import hashlib
import json

from tests.reports.sample_report import NAMES, write_build
from tileiras_build.reports.collect_rows import read_rows
from tileiras_build.reports.html_report import render_page
from tileiras_build.reports.verification_results import verification_results


def write_reference(folder, name, share, ptx=b"code", compared=None):
    (folder / f"{name}.ptx").write_bytes(ptx)
    content = {"ptx": hashlib.sha256(compared or ptx).hexdigest(), "kernels": [{"entry": name, "share": share}]}
    (folder / f"{name}.reference").write_text(json.dumps(content))


def test_rows_say_how_kernels_agree(tmp_path):
    one, other = NAMES[:2]
    write_build(tmp_path, names=NAMES[:2], gpus=("sm_80", "sm_90"))
    write_reference(tmp_path / "sm_80", one, 0.124)
    write_reference(tmp_path / "sm_90", one, 0.5, compared=b"what it was before")
    found = {(row.kernel, row.target): row.reference for row in read_rows(tmp_path)}
    assert found == {
        (one, "sm_80"): "match (0.12x tolerance)", (one, "sm_90"): None,
        (other, "sm_80"): None, (other, "sm_90"): None,
    }  # fmt: skip
    page = render_page("build", read_rows(tmp_path), None, None)
    assert '"reference":"match (0.12x tolerance)"' in page


def test_damaged_files_say_nothing(tmp_path):
    for text in ("{", "[]", '{"ptx": 1}'):
        (tmp_path / "k.ptx").write_bytes(b"")
        (tmp_path / "k.reference").write_text(text)
        assert verification_results(tmp_path / "k.cubin") == {}
