"""Builds the wheels of this checkout."""

import os
import subprocess
import sys
from pathlib import Path

from tests.patience import LONG

ROOT = Path(__file__).parent.parent
PROJECTS = {"plyd": ROOT, "plyd_client": ROOT / "clients"}


def build_wheels(folder, *names, **environment):
    """The wheel of each distribution, by name; of all of them if none is named."""
    for name in names or PROJECTS:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(
            command,
            cwd=PROJECTS[name],
            env={**os.environ, **environment},
            check=True,
            capture_output=True,
            timeout=LONG,
        )
    return {wheel.name.split("-")[0]: wheel for wheel in Path(folder).glob("*.whl")}
