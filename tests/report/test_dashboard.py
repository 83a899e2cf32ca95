"""The dashboard over HTTP; what a browser makes of it is in test_browser."""

import json
import re
import socket
import time
import urllib.error
import urllib.request

import pytest

import bosquet as bq
from bosquet.cli import main
from bosquet.report.dashboard import Dashboard, application, studies_html
from bosquet.study.reading import Listed, list_studies
from tests.report.conftest import NASTY
from tests.report.serving import dashboard


def fill(file, name, n, space=None):
    space = space or bq.Space({"x": bq.Float(0, 1)})
    with bq.Study(file, name, space=space, seed=0, strategy="random") as study:
        for _ in range(n):
            trial = study.ask()
            study.tell(trial, trial.config["x"])


def get(address, headers=None):
    request = urllib.request.Request(address, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, dict(answer.headers), answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, dict(refused.headers), refused.read().decode()


def get_when_ready(address, not_yet, headers=None):
    """What an address answers at last; asks rarely, as the dashboard works meanwhile."""
    while (answer := get(address, headers))[0] == not_yet:
        time.sleep(0.1)
    return answer


def test_pages_of_a_storage_that_others_write_to(storage):
    fill(storage, "one", 3)
    with dashboard(storage) as home:
        assert get(f"{home}study/1/")[0] == 200
        _, headers, body = get(f"{home}study/1/summary.json")
        assert json.loads(body)["counts"]["complete"] == 3
        tag = headers["etag"]
        assert get(f"{home}study/1/summary.json", {"If-None-Match": tag})[0] == 304
        fill(storage, "one", 2)
        # A storage is read once a second at most.
        body = get_when_ready(f"{home}study/1/summary.json", 304, {"If-None-Match": tag})[2]
        assert json.loads(body)["counts"]["complete"] == 5
        body = get_when_ready(f"{home}study/1/pictures.json", 204)[2]
        assert json.loads(body)["advice"]


def test_lists_and_what_is_not_there(tmp_path):
    file = tmp_path / "r.db"
    fill(file, "one", 1)
    with dashboard(file) as home:
        assert "packed-plotly" in get(home)[2]  # the only study at once
        assert get(home, {"Host": "evil.example"})[0] == 400
        fill(file, NASTY, 2)
        page = get(home)[2]
        assert "<script" not in page
        assert re.findall('href="(study.*?)"', page) == ["study/2/", "study/1/"]
        assert get(f"{home}study/9/")[:1] == (404,)
        assert get(f"{home}study/9/summary.json")[2] == "there is no such study"
        file.rename(tmp_path / "away.db")
        status, _, said = get(f"{home}study/1/summary.json")
        assert status == 503
        assert "there is no such file" in said


def test_nothing_can_be_changed(tmp_path):
    fill(tmp_path / "r.db", "one", 1)
    app = application(tmp_path / "r.db", None, None, "127.0.0.1")
    for route in app.routes:
        assert vars(route)["methods"] <= {"GET", "HEAD"}


def test_one_study_of_several(tmp_path):
    file = tmp_path / "r.db"
    fill(file, "one", 1)
    fill(file, "two", 2)
    assert [(one.name, one.trials) for one in list_studies(file)] == [("one", 1), ("two", 2)]
    assert [one.name for one in Dashboard(file, "two", None).studies()] == ["two"]
    with pytest.raises(ValueError, match="study='tow' must be one of one, two; did you mean"):
        Dashboard(file, "tow", None)


def test_names_are_escaped():
    page = studies_html(NASTY, [Listed(1, NASTY, 3)])
    assert NASTY not in page
    places = 3  # title, heading, link
    assert page.count("&lt;/script&gt;") == places * NASTY.count("</script>")


def test_bad_arguments(tmp_path, capsys):
    assert main(["dashboard", str(tmp_path / "none.db")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["dashboard", "r.db", "--port", "99999"])
    assert "'99999' must be a port: 0 to 65535" in capsys.readouterr().err
    fill(tmp_path / "r.db", "one", 1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["dashboard", str(tmp_path / "r.db"), "--port", port]) == 2
    assert f"cannot listen on 127.0.0.1, port {port}" in capsys.readouterr().err
