"""Errors as the page hears them."""

import json
from functools import cache
from importlib import resources
from typing import Any

from plyd.clients.library.errors import PlydError


class BridgeError(PlydError):
    """An error of the bridge itself, which stands for one of the library. The page has its text in every language.

    `key` names that text in static/messages, `values` are what it mentions; the message is the English one.
    """

    def __init__(self, stands_for: type[PlydError], key: str, **values: int) -> None:
        super().__init__(english_texts()[key].format(**values))
        self.stands_for, self.key, self.values = stands_for, key, values


@cache
def english_texts() -> dict[str, Any]:
    """The page's texts in English."""
    file = resources.files("plyd.clients.web") / "static" / "messages" / "en.json"
    texts: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return texts


def error_json(error: PlydError) -> dict[str, Any]:
    """An error as JSON; its kind is the name of a class in plyd.clients.library.errors."""
    fields = {"kind": type(error).__name__, "message": str(error), "retrySeconds": error.retry_seconds}
    if isinstance(error, BridgeError):
        fields |= {"kind": error.stands_for.__name__, "text": {"key": error.key, "values": error.values}}
    return fields
