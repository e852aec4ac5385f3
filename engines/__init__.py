"""Engines: rules, kernels and searches of every game. Knows numpy and numba; never gRPC.

Importing this package decides where numba keeps compiled kernels: in the user's cache folder, under a name made from
the sources. numba itself looks only at the file a kernel stands in, so an edit to a function that it calls from another
file would go unseen; and a folder beside the sources may not be writable.
"""

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

__version__ = "0.1.0"


def kernel_cache() -> Path:
    """The folder for compiled kernels of exactly these sources and this Python."""
    digest = hashlib.sha256(sys.version.encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = home / "plyd" / "kernels" / digest.hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):
        pass
    folder = Path(tempfile.mkdtemp(prefix="plyd-kernels-"))  # no home to write to: compile anew each time
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


if "NUMBA_CACHE_DIR" not in os.environ:
    os.environ["NUMBA_CACHE_DIR"] = str(kernel_cache())
    if "numba" in sys.modules:  # it has read the environment already
        sys.modules["numba"].config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]
