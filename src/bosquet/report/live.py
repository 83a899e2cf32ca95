"""A study that a dashboard shows: what it says now, made again only when it has changed."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bosquet.report.content import Source, pictures, summary

FRESH = 1.0  # seconds for which the storage is not read again, however many look
REST = 3.0  # times the processor time that the pictures took, none are made again

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """JSON to be sent, and its version."""

    tag: str
    body: bytes


class LiveStudy:
    """The page of one study; ``read`` reads it from its storage.

    The summary is made when somebody asks. Pictures need a model: they are made in a thread of
    their own, so that the page never waits for them, and rest for some times as long as they took.
    """

    def __init__(self, read: Callable[[], Source]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._source: Source | None = None
        self._summary: Answer | None = None
        self._read_at = -FRESH
        self._pictures: Answer | None = None
        self._drawn = ""
        """The version of the summary to which the pictures belong."""
        self._drawing: threading.Thread | None = None
        self._rest_until = 0.0

    def summary(self) -> Answer:
        with self._lock:
            if self._summary is None or time.monotonic() - self._read_at >= FRESH:
                self._source = self._read()
                content = summary(self._source)
                self._summary = Answer(_tag(content | {"made": None}), _json(content))
                self._read_at = time.monotonic()
            return self._summary

    def pictures(self) -> Answer | None:
        """The latest ones; None before the first. Those of newer trials are begun if it is time."""
        now = self.summary()
        with self._lock:
            busy = self._drawing is not None and self._drawing.is_alive()
            if now.tag != self._drawn and not busy and time.monotonic() >= self._rest_until:
                assert self._source is not None
                self._drawn = now.tag
                self._drawing = threading.Thread(
                    target=self._draw, args=(self._source,), daemon=True
                )
                self._drawing.start()
            return self._pictures

    def _draw(self, source: Source) -> None:
        began = time.thread_time()  # waiting for a busy machine is no work
        try:
            content = pictures(source)
        except Exception as error:  # noqa: BLE001 - the page goes on, and says what is wrong
            _log.exception("the pictures of %s cannot be made", source.title)
            advice = f"The pictures cannot be made: {type(error).__name__}: {error}"
            content = {"advice": advice, "sections": []}
        self._pictures = Answer(_tag(content), _json(content))
        self._rest_until = time.monotonic() + REST * (time.thread_time() - began)


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False).encode()


def _tag(content: dict[str, Any]) -> str:
    return f'"{hashlib.sha256(_json(content)).hexdigest()[:32]}"'
