"""The page's own files: their version, and the service worker that keeps them in the browser.

All is read from the files at each request, so that an edit of a checkout and an update of the package count at once.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

WORKER = Path(__file__).with_name("service-worker.js")
KEPT = frozenset({".js", ".css", ".json", ".svg"})  # the rest, such as the app's icons, only the system asks for
VERSION_MARK = b'data-version=""'


class Shell:
    """The page as the files of a folder are now."""

    def __init__(self, folder: Path) -> None:
        page, self._worker = (folder / "index.html").read_bytes(), WORKER.read_bytes()
        hashes = dict(_hashes(folder))
        known = [_integrity(page), _integrity(self._worker), *hashes.items()]
        self.version = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:12]
        self.page = page.replace(VERSION_MARK, f'data-version="{self.version}"'.encode(), 1)
        self._hashes = {"/": _integrity(self.page), **hashes}

    def worker(self) -> bytes:
        """The service worker's script: the version and the files to keep, each with its hash, then what it does."""
        shell = json.dumps({"version": self.version, "files": self._hashes}, indent=1)
        return f"self.SHELL = {shell};\n\n".encode() + self._worker


def _hashes(folder: Path) -> Iterator[tuple[str, str]]:
    """The address and the hash of each file that a page may load."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in KEPT:
            yield f"/static/{path.relative_to(folder).as_posix()}", _integrity(path.read_bytes())


def _integrity(data: bytes) -> str:
    """A file's hash, as browsers check it (Subresource Integrity)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(data).digest()).decode()
