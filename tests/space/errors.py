"""Errors with the whole of their message."""

from __future__ import annotations

import re
from typing import Any

import pytest


def raises(error: type[Exception], text: str) -> Any:
    """The whole message."""
    return pytest.raises(error, match=rf"\A{re.escape(text)}\Z")
