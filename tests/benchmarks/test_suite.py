"""The real suite: nothing to report on is there to choose on, and data are looked for."""

import pytest

from bosquet.benchmarks.suite import DATA_VARIABLE, DEVELOP, REPORT, data_directory


def test_both_halves_have_every_family_and_nothing_in_common():
    assert not DEVELOP.keys() & REPORT.keys()
    families = [{name.split("-")[0] for name in half} for half in (DEVELOP, REPORT)]
    assert families[0] == families[1] == {"system", "select", "boosting", "mlp", "pipeline"}


def test_where_data_are(monkeypatch, tmp_path):
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    assert data_directory() == tmp_path
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError, match=f"gone: name their directory .*{DATA_VARIABLE}"):
        data_directory()
    with pytest.raises(FileNotFoundError, match="gone"):
        DEVELOP["system-7z"](0)
