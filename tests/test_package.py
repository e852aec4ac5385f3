"""The wheel: one namespace, the schema in it, and nothing that would collide in somebody's site-packages."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_wheel_installs_one_namespace_with_the_schema_in_it(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"plyd"}
    for name in (
        "plyd/v1/engine.proto",
        "plyd/v1/engine_pb2.py",
        "plyd/v1/engine_pb2.pyi",
        "plyd/engines/registry.py",
        "plyd/servers/daemon.py",
        "plyd/clients/library/client.py",
        "plyd/clients/web/static/index.html",
        "plyd/models/__init__.py",
        "plyd/protocols/ugi.py",
    ):
        assert name in names
    assert "plyd/__init__.py" not in names
    assert not any("node_modules" in name or "__pycache__" in name for name in names)
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    code = "import plyd.clients.cli, plyd.v1.rules_pb2, plyd.servers.daemon; print(plyd.clients.cli.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed), "HOME": str(tmp_path)},
    )
    assert done.stdout == f"{installed}/plyd/clients/cli.py\n", done.stderr
