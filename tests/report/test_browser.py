"""The report and the live page in headless Chromium."""

import numpy as np
import pytest

import bosquet as bq
from bosquet.report.content import Source
from bosquet.report.page import write_report
from tests.chromium import PATIENCE
from tests.report.conftest import NASTY
from tests.report.serving import dashboard

WIDTHS = {"laptop": (1280, 800), "phone": (390, 844)}
DRAWN = "document.querySelectorAll('.figure > div .main-svg').length"
ALL_READY = "document.documentElement.dataset.ready === 'all'"


def column(page, position):
    """The texts of a column of the table of trials."""
    cells = f"[...document.querySelectorAll('tr.row td:nth-child({position})')]"
    return page.run(f"{cells}.map((cell) => cell.textContent)")


def choose(page, name, value):
    event = "input" if name == "words" else "change"
    page.run(
        f"(() => {{ const chosen = document.getElementById('filter-{name}'); "
        f"chosen.value = {value!r}; chosen.dispatchEvent(new Event('{event}')); }})()"
    )


@pytest.fixture(scope="module")
def report(plain, tmp_path_factory):
    return plain.report(tmp_path_factory.mktemp("report") / "plain.html")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_report_draws_its_pictures_and_asks_nobody(browser, report, width):
    with browser.page(*WIDTHS[width]) as page:
        page.open(report)
        page.wait_for(ALL_READY)
        before = page.run("document.querySelectorAll('.figure > div').length")
        for number in range(before):  # without being scrolled to
            at = f"document.querySelectorAll('.figure > div')[{number}]"
            page.wait_for(f"{at}.querySelector('.main-svg')")
        assert page.run("document.documentElement.scrollWidth") == WIDTHS[width][0]
        for dark in (True, False):
            page.dark(dark)
            text = page.run("getComputedStyle(document.body).color")
            page.wait_for(
                f"getComputedStyle(document.querySelector('.figure .xtick text')).fill === {text!r}"
            )
        assert page.problems == []
        assert page.requests == [report.as_uri()]


def test_pictures_on_paper_are_black_and_as_wide_as_the_page(browser, report):
    first = "document.querySelector('.figure > div')"
    looks = f"[{first}.layout.font.color, {first}.layout.width]"
    with browser.page(*WIDTHS["phone"]) as page:
        page.dark(True)
        page.open(report)
        page.wait_for(f"{first}.querySelector('.main-svg')")
        colour, _ = on_screen = page.run(looks)
        assert colour != "#000"
        page.run("dispatchEvent(new Event('beforeprint'))")
        assert page.run(looks) == ["#000", 680]
        page.run("dispatchEvent(new Event('afterprint'))")
        assert page.run(looks) == on_screen
        assert page.problems == []


def test_sorting_and_filtering(browser, report, plain):
    with browser.page() as page:
        page.open(report)
        page.wait_for("document.querySelector('tr.row')")
        numbers = [str(trial.number) for trial in plain.trials]
        assert column(page, 1) == numbers[::-1]  # the latest first
        page.run("document.querySelector('[data-sort=value]').click()")
        by_value = sorted(plain.trials, key=lambda trial: trial.value)
        assert column(page, 1) == [str(trial.number) for trial in by_value]
        page.run("document.querySelector('[data-sort=value]').click()")
        down = sorted(plain.trials, key=lambda trial: (-trial.value, trial.number))
        assert column(page, 1) == [str(trial.number) for trial in down]
        choose(page, "branch", "m=b")
        of_b = [str(t.number) for t in down if t.config["m"] == "b"]
        assert column(page, 1) == of_b
        choose(page, "state", "complete")
        choose(page, "words", "nothing like this")
        assert column(page, 1) == []
        assert page.run("document.getElementById('shown').textContent") == "0 trials"
        choose(page, "words", "")
        page.run("document.querySelector('tr.row').click()")
        detail = page.run("document.querySelector('tr.detail').textContent")
        assert "Why it was proposed" in detail
        assert page.problems == []


def test_copying_the_best(browser, report, plain):
    with browser.page() as page:
        page.open(report)
        page.wait_for("document.querySelector('[data-copy=Python]')")
        page.run("navigator.clipboard.writeText = (text) => { window.copied = text; }")
        page.run("document.querySelector('[data-copy=Python]').click()")
        assert eval(page.wait_for("window.copied")) == plain.best_config
        page.wait_for("document.querySelector('[data-copy=Python]').textContent === 'Copied'")


def test_texts_of_users_do_no_harm(browser, nasty, tmp_path):
    written = write_report(Source(NASTY, nasty.history), tmp_path / "nasty.html")
    with browser.page() as page:
        page.open(written)
        page.wait_for(ALL_READY)
        page.wait_for(f"{DRAWN} > 0")
        page.run("document.querySelectorAll('tr.row').forEach((row) => row.click())")
        assert page.run("document.title") != "owned"
        assert page.run("document.querySelectorAll('img').length") == 0
        assert page.run("document.querySelector('h1').textContent") == NASTY
        assert "onerror" in page.run("document.getElementById('failures').textContent")
        choose(page, "state", "failed")
        assert len(column(page, 1)) == len(nasty.history.failed)
        assert page.problems == []
        assert page.requests == [written.as_uri()]


def test_an_old_browser_still_shows_the_texts(browser, report):
    with browser.page() as page:
        script = "delete window.DecompressionStream"
        page.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        page.open(report)
        page.wait_for("document.querySelector('tr.row')")
        assert "lacks DecompressionStream" in page.run(
            "document.getElementById('notice').textContent"
        )
        assert page.problems == []


def test_large_reports_load_within_three_seconds(browser, large_report):
    """By the browser's own clock, of which busy machines take their share: the best of eight."""
    taken: list[float] = []
    while len(taken) < 8 and min(taken, default=np.inf) >= 3000:
        with browser.page() as page:
            page.open(large_report)
            page.wait_for(ALL_READY)
            taken.append(page.run("performance.now()"))
            for picture in ("convergence", "importance", "interaction", "effects", "trust"):
                assert page.run(f"document.getElementById('picture-{picture}') !== null")
            assert page.run("document.querySelectorAll('tr.row').length") == 50
            page.run("document.getElementById('next-page').click()")
            assert column(page, 1)[0] == "1949"
            assert page.problems == []
    assert min(taken) < 3000


def test_the_live_page_follows_a_study(browser, tmp_path):
    file = tmp_path / "r.db"
    space = bq.Space({"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {}})})
    with bq.Study(file, space=space, seed=0, strategy="sobol") as study:
        for number in range(6):
            study.tell(study.ask(), 5.0 + number)
        with dashboard(file) as home, browser.page() as page:
            page.open(home)
            page.wait_for("document.querySelectorAll('tr.row').length === 6")
            assert page.run("document.querySelector('.headline').textContent") == "5.00"
            page.wait_for(f"{DRAWN} > 0")
            choose(page, "state", "complete")
            study.tell(study.ask(), 1.25)
            study.ask()
            page.wait_for("document.querySelector('.headline').textContent === '1.25'")
            page.wait_for("document.querySelector('#facts').textContent.includes('1 running')")
            assert len(column(page, 1)) == 7  # the filter stays
            page.wait_for(
                "document.querySelector('#picture-convergence .finding').textContent"
                ".includes('1.25')",
                seconds=5 * PATIENCE,  # a model is fitted first, after some rest
            )
            assert page.run("document.getElementById('status').textContent") == "live"
            assert page.problems == []
            assert {address.split("/")[2] for address in page.requests} == {home.split("/")[2]}
