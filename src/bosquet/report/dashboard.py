"""The dashboard: the reports of a storage's studies as pages that follow them. Read-only."""

from __future__ import annotations

import html
import ipaddress
import socket
import sys
from collections.abc import Iterable
from string import Template
from typing import Any

from bosquet.report.content import Source
from bosquet.report.live import Answer, LiveStudy
from bosquet.report.page import asset, live_html, plotly_js
from bosquet.space import Space
from bosquet.study import read_study
from bosquet.study.reading import Listed, list_studies
from bosquet.study.storages import name_of
from bosquet.text import must_be_one_of, printable

try:
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, RedirectResponse, Response
    from starlette.routing import Route
except ImportError as error:
    raise ImportError(
        "the dashboard needs Starlette and uvicorn: pip install 'bosquet[dashboard]'"
    ) from error

_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Dashboard:
    """What the pages of a storage show."""

    def __init__(self, storage: Any, study_name: str | None, space: Space | None) -> None:
        self._storage = storage
        self._only = study_name
        self._space = space
        self._live: dict[int, LiveStudy] = {}
        self.where = name_of(storage)
        self.studies()  # an address that is wrong is said before anything is served

    def studies(self) -> list[Listed]:
        found = list_studies(self._storage)
        if self._only is None:
            return found
        chosen = [one for one in found if one.name == self._only]
        if not chosen:
            names = [one.name for one in found]
            raise ValueError(must_be_one_of("study", self._only, names))
        return chosen

    def study(self, study_id: int) -> tuple[Listed, LiveStudy] | None:
        one = next((one for one in self.studies() if one.id == study_id), None)
        if one is None:
            return None
        name = one.name
        live = self._live.setdefault(study_id, LiveStudy(lambda: self._read(name)))
        return one, live

    def _read(self, name: str) -> Source:
        return Source.of_study(read_study(self._storage, name, self._space))

    # -- pages -------------------------------------------------------------------------------

    def home(self, _: Request) -> Response:
        studies = self.studies()
        if len(studies) == 1:
            return RedirectResponse(f"study/{studies[0].id}/")
        return _page(studies_html(self.where, studies))

    def page(self, request: Request) -> Response:
        found = self.study(request.path_params["study"])
        if found is None:
            return _not_there()
        several = "../../" if len(self.studies()) > 1 else ""
        return _page(live_html(f"{self.where}, study {found[0].name!r}", home=several))

    def summary(self, request: Request) -> Response:
        found = self.study(request.path_params["study"])
        return _not_there() if found is None else _answer(request, found[1].summary())

    def pictures(self, request: Request) -> Response:
        found = self.study(request.path_params["study"])
        return _not_there() if found is None else _answer(request, found[1].pictures())


def studies_html(where: str, studies: Iterable[Listed]) -> str:
    """The list of studies."""
    rows = [
        f'<tr><td><a href="study/{one.id}/">{_escaped(one.name)}</a></td>'
        f'<td class="number">{one.trials}</td></tr>'
        for one in studies
    ]
    return Template(asset("studies.html")).substitute(
        title=_escaped(where), css=asset("report.css"), rows="\n".join(rows)
    )


def application(storage: Any, study_name: str | None, space: Space | None, host: str) -> Starlette:
    """The pages as an ASGI application that answers to ``host`` only.

    Else a page of somebody else's, whose name leads to this machine, could read them.
    """
    shown = Dashboard(storage, study_name, space)
    names = ["127.0.0.1", "localhost", "[::1]", host] if _is_loopback(host) else ["*"]
    return Starlette(
        routes=[
            Route("/", shown.home),
            Route("/study/{study:int}/", shown.page),
            Route("/study/{study:int}/summary.json", shown.summary),
            Route("/study/{study:int}/pictures.json", shown.pictures),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=names)],
        exception_handlers={OSError: _failed, ValueError: _failed},
    )


def serve(
    storage: Any,
    study_name: str | None = None,
    space: Space | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
) -> None:
    """Serves the studies of a storage until Ctrl-C."""
    import uvicorn

    app = application(storage, study_name, space, host)
    plotly_js()  # to be without it is said now
    listening = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"bosquet: http://{shown}:{listening.getsockname()[1]}/ (Ctrl-C ends it)\n")
    if not _is_loopback(host):
        sys.stderr.write("bosquet: everybody who reaches this address can read the studies\n")
    sys.stderr.flush()
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise OSError(
            f"cannot listen on {host}, port {port}: {error.strerror}; another --port may be free"
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _page(written: str) -> Response:
    return HTMLResponse(written, headers=_HEADERS)


def _answer(request: Request, answer: Answer | None) -> Response:
    if answer is None:
        return Response(status_code=204, headers=_HEADERS)
    headers = _HEADERS | {"ETag": answer.tag}
    if request.headers.get("if-none-match") == answer.tag:
        return Response(status_code=304, headers=headers)
    return Response(answer.body, media_type="application/json", headers=headers)


def _not_there() -> Response:
    return Response("there is no such study", 404, headers=_HEADERS, media_type="text/plain")


def _failed(_: Request, error: Exception) -> Response:
    text = printable(str(error), lines=True)
    return Response(text, 503, headers=_HEADERS, media_type="text/plain")


def _escaped(text: str) -> str:
    return html.escape(printable(text))
