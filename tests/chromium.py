"""Headless Chromium for tests, over the pipe of its DevTools protocol: no driver, no package.

`browser` starts one for all tests of a module that asks for it, and skips them where there is none.
A `Page` notes every error of the console and every request, so that a test can ask for none.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60.0  # seconds: machines of tests are busy
_OPTIONS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # it refuses to run as root with one
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
)


def program() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = program()
    if path is None:
        pytest.skip(f"no Chromium on this machine: none of {', '.join(NAMES)} is installed")
    started = Browser(path)
    yield started
    started.close()


class Browser:
    """A process of Chromium; messages are JSON, each ended by a zero byte."""

    def __init__(self, path: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        environment = dict(os.environ) | {"HOME": self._profile}
        self._said = Path(self._profile) / "said.txt"
        said = os.open(self._said, os.O_WRONLY | os.O_CREAT)
        actions = [
            (os.POSIX_SPAWN_DUP2, theirs_in, 3),
            (os.POSIX_SPAWN_DUP2, theirs_out, 4),
            (os.POSIX_SPAWN_DUP2, said, 1),
            (os.POSIX_SPAWN_DUP2, said, 2),
        ]
        command = [path, *_OPTIONS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = os.posix_spawn(
            path, command, environment, file_actions=actions, setpgroup=0
        )
        for end in (theirs_in, theirs_out, said):
            os.close(end)
        self._number = 0
        self._unread = b""
        self.pages: dict[str, Page] = {}

    def close(self) -> None:
        os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)

    @contextmanager
    def page(self, width: int = 1280, height: int = 800) -> Iterator[Page]:
        """A new, empty page, closed at the end."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        yield page
        self.call("Target.closeTarget", targetId=target)
        del self.pages[session]

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer; events meanwhile go to their pages."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        give_up = time.monotonic() + PATIENCE
        while True:
            answer = self._receive(give_up - time.monotonic())
            assert answer is not None, f"Chromium did not answer {method}"
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])

    def listen(self, seconds: float) -> None:
        """Takes in what happens, for at most so long."""
        self._receive(seconds)

    def _receive(self, seconds: float) -> dict[str, Any] | None:
        give_up = time.monotonic() + seconds
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._in], [], [], max(0.0, give_up - time.monotonic()))
            if not ready:
                return None
            some = os.read(self._in, 1 << 20)
            assert some, f"Chromium has ended: {self._said.read_text()[-2000:]}"
            self._unread += some
        text, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        page = self.pages.get(message.get("sessionId", ""))
        if page is not None and "method" in message:
            page.note(message["method"], message["params"])
        return message


class Page:
    """One tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.problems: list[str] = []
        """Errors and warnings of the console, and exceptions that nobody caught."""
        self.requests: list[str] = []
        """The addresses that were asked for, those within the page (data:, blob:) aside."""

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("data:", "blob:")):
                self.requests.append(url)
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.problems.append(json.dumps(params["args"])[:500])

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def dark(self, wanted: bool) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if wanted else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str | Path) -> None:
        self.call("Page.navigate", url=address.as_uri() if isinstance(address, Path) else address)

    def run(self, script: str) -> Any:
        """The value of an expression; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, script: str, seconds: float = PATIENCE) -> Any:
        """Asks again until an expression is true, and returns its value: true for an element."""
        give_up = time.monotonic() + seconds
        value = f"const value = {script}; return value instanceof Node ? true : value;"
        asked = f"(() => {{ try {{ {value} }} catch {{}} }})()"
        while not (answer := self.run(asked)):
            assert time.monotonic() < give_up, f"never true: {script}; problems {self.problems}"
            self._browser.listen(0.05)
        return answer

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(taken["data"]))
