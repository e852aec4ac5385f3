"""The page's own files: their version, and the service worker that keeps them in the browser.

All is read from the files at each request, so that an edit of a checkout and an update of the package count at once.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

WORKER = "service-worker.js"
KEPT = frozenset({".js", ".css", ".json", ".svg"})  # the rest, such as the app's icons, only the system asks for
VERSION_MARK = b'data-version=""'


class Shell:
    """The page as the files of a folder are now."""

    def __init__(self, folder: Path) -> None:
        files = {f"/static/{name}": data for name, data in _files(folder)}
        self._worker = files.pop(f"/static/{WORKER}")
        page = (folder / "index.html").read_bytes()
        self.version = hashlib.sha256(
            json.dumps([_integrity(page), _integrity(self._worker), *_hashes(files)]).encode()
        ).hexdigest()[:12]
        self.page = page.replace(VERSION_MARK, f'data-version="{self.version}"'.encode(), 1)
        self._hashes = dict(_hashes({"/": self.page, **files}))

    def worker(self) -> bytes:
        """The service worker's script: the version and the files to keep, each with its hash, then what it does."""
        shell = json.dumps({"version": self.version, "files": self._hashes}, indent=1)
        return f"self.SHELL = {shell};\n\n".encode() + self._worker


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The files that a page may load, by their paths in the folder."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in KEPT:
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _hashes(files: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    return ((path, _integrity(data)) for path, data in files.items())


def _integrity(data: bytes) -> str:
    """A file's hash, as browsers check it (Subresource Integrity)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(data).digest()).decode()
