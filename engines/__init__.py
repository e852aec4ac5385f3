"""Engines: rules, kernels and searches of every game. Knows numpy and numba; never gRPC.

Importing this package decides where numba keeps compiled kernels: in the user's cache folder, under a name made from
the sources. numba itself looks only at the file a kernel stands in, so an edit to a function that it calls from another
file would go unseen; and a folder beside the sources may not be writable.
"""

import hashlib
import os
import sys
from pathlib import Path

__version__ = "0.1.0"


def kernel_cache() -> Path:
    """The folder for compiled kernels of exactly these sources and this Python."""
    digest = hashlib.sha256(sys.version.encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "plyd" / "kernels" / digest.hexdigest()[:16]


os.environ.setdefault("NUMBA_CACHE_DIR", str(kernel_cache()))
