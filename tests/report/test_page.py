"""The file itself; what a browser makes of it is in test_browser."""

import base64
import gzip
import json
import re
import sys
from html.parser import HTMLParser

import pytest

import bosquet as bq
from bosquet.cli import main
from bosquet.report.content import Source
from bosquet.report.page import packed, plotly_js, report_html, script_json
from tests.report.conftest import NASTY

MEGABYTE = 1_000_000


class Scripts(HTMLParser):
    """The elements of a page, and the texts of its scripts by id."""

    def __init__(self):
        super().__init__()
        self.tags, self.scripts, self.links, self._id = [], {}, [], None

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        self.links += [attributes[name] for name in ("src", "href") if name in attributes]
        self._id = attributes.get("id") if tag == "script" else None

    def handle_endtag(self, tag):
        self._id = None

    def handle_data(self, data):
        if self._id is not None:
            self.scripts[self._id] = data


def parsed(page):
    found = Scripts()
    found.feed(page)
    return found


@pytest.fixture(scope="module")
def written(nasty):
    return parsed(report_html(Source.of_result(nasty)))


def test_everything_is_in_the_page_as_data(written):
    assert written.links == ["data:,"]
    assert written.tags.count("script") == 6
    assert "img" not in written.tags
    content = json.loads(written.scripts["content"])
    assert len(content["trials"]["rows"]) == 16
    assert any(NASTY in row[6] for row in content["trials"]["rows"] if row[6])
    pictures = gzip.decompress(base64.b64decode(written.scripts["packed-pictures"]))
    assert json.loads(pictures)["sections"]
    plotly = gzip.decompress(base64.b64decode(written.scripts["packed-plotly"])).decode()
    assert "plotly.js" in plotly[:200]


def test_texts_cannot_leave_their_script():
    written = script_json({NASTY: [NASTY, "\ud800", 1.5]})
    assert not re.search("[<>&\u2028\u2029]|[^\x00-\x7f]", written)
    assert json.loads(written) == {NASTY: [NASTY, "\ud800", 1.5]}


def test_titles_are_escaped(nasty):
    written = report_html(Source(f"<title>{NASTY}", nasty.history))
    assert "<title>&lt;title&gt;&lt;/script&gt;" in written


def test_packing():
    text = "Größe 🌲 " * 1000
    assert gzip.decompress(base64.b64decode(packed(text))).decode() == text
    assert len(packed(text)) < 500


def test_result_report_and_the_command(plain, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = plain.report("a.html")
    assert written.stat().st_size < 3 * MEGABYTE
    space = plain.history.space
    with bq.Study("runs.db", space=space, seed=0) as study:
        for trial in plain.trials[:6]:
            study.tell(trial.config, trial.value)
    assert main(["report", "runs.db", "-o", "b.html"]) == 0
    assert "report written to b.html" in capsys.readouterr().err
    content = json.loads(parsed((tmp_path / "b.html").read_text()).scripts["content"])
    assert content["title"] == "runs.db, study 'bosquet'"
    assert not list(tmp_path.glob("*.partial"))
    assert main(["report", "runs.db", "-o", "none/b.html"]) == 2
    assert "bosquet: none/b.html: there is no directory none\n" in capsys.readouterr().err
    assert main(["report", "runs.db", "-o", "."]) == 2
    assert "bosquet: . is a directory; give the name of a file in it\n" in capsys.readouterr().err
    assert main(["export", "runs.db", "-o", "none/b.csv"]) == 2
    assert "bosquet: none/b.csv: No such file or directory\n" in capsys.readouterr().err
    assert main(["report", "none.db"]) == 2
    assert "there is no such file" in capsys.readouterr().err


def test_reports_of_what_is_asked_and_told(tmp_path):
    space = bq.Space({"x": bq.Float(0, 1), "m": bq.Choice({"a": {"y": bq.Float(0, 1)}, "b": {}})})
    optimizer = bq.Optimizer(space, "random", seed=0)
    with bq.Study(tmp_path / "s.db", "mine", space=space, strategy="random", seed=0) as study:
        for _ in range(6):
            trial = optimizer.ask()
            optimizer.tell(trial, trial.config["x"])
            study.tell(trial.config, trial.config["x"])
        optimizer.ask()
        study.ask()
        best = optimizer.model().best_predicted()[0].config["x"]
        assert study.model().best_predicted()[0].config["x"] == pytest.approx(best)
        for one, title in ((optimizer, "bosquet report"), (study, "mine")):
            page = parsed(one.report(tmp_path / "r.html").read_text(encoding="utf-8"))
            content = json.loads(page.scripts["content"])
            assert title in content["title"]
            assert (content["counts"]["complete"], content["counts"]["pending"]) == (6, 1)


def test_large_studies_stay_below_six_megabytes(large_report):
    assert large_report.stat().st_size < 6 * MEGABYTE


def test_without_plotly_the_extra_is_named(monkeypatch):
    plotly_js.cache_clear()
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match="a report needs plotly: pip install"):
        plotly_js()
