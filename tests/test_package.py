"""The wheels: plyd-client and plyd, one namespace in two parts, and nothing that would collide in a site-packages."""

import re
import subprocess
import sys
import sysconfig
import zipfile
from email import message_from_bytes

import pytest

from plyd.engines import __version__
from tests.patience import LONG
from tests.wheels import ROOT, build_wheels

CLIENT_NEEDS = {"click", "googleapis-common-protos", "grpcio", "grpcio-health-checking", "protobuf"}
CLIENT_IMPORTS = {"click", "google", "grpc", "grpc_health", "typing_extensions"}  # the last one is grpc's own
MAX_WHEEL = 100_000_000  # bytes
NOT_FOR_THE_CLIENT_ALONE = {  # modules of plyd-client that need a package of plyd, and which
    "ray": r"plyd\.cluster\.actors",
    "starlette": r"plyd\.clients\.(web|http|tournament)\.",
    "uvicorn": r"plyd\.clients\.tournament\.",
    "uvloop": r"plyd\.clients\.stress\.",
    "websockets": r"plyd\.clients\.(stress|web)\.",
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    return build_wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def client_only(wheels, tmp_path_factory):
    """Runs Python with plyd-client as its wheel has it, the packages that it needs, and no others."""
    folder = tmp_path_factory.mktemp("client")
    zipfile.ZipFile(wheels["plyd_client"]).extractall(folder)
    packages = sysconfig.get_paths()["purelib"]

    def run(code, *arguments):
        command = [sys.executable, "-S", "-c", ALONE + code, *arguments]  # -S: without the links of this checkout
        environment = {"PYTHONPATH": f"{folder}:{packages}", "HOME": str(folder), "PATH": "/usr/bin:/bin"}
        return subprocess.run(
            command, capture_output=True, text=True, cwd=folder, timeout=LONG, env=environment, check=False
        )

    return run


ALONE = f"""
import sys

class Alone:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top != "plyd" and top not in sys.stdlib_module_names and top not in {CLIENT_IMPORTS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Alone())
"""


def metadata(wheel):
    archive = zipfile.ZipFile(wheel)
    [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    return message_from_bytes(archive.read(name))


def test_the_wheels_share_one_namespace_and_no_file(wheels):
    assert set(wheels) == {"plyd", "plyd_client"}
    files = {name: set(zipfile.ZipFile(wheel).namelist()) for name, wheel in wheels.items()}
    assert files["plyd"].isdisjoint(files["plyd_client"])
    tops = {name.split("/")[0].partition("-")[0] for names in files.values() for name in names}
    assert tops == {"plyd", "plyd_client"}  # the latter is its metadata
    rooms = {part: {file.split("/")[1] for file in names if file.startswith("plyd/")} for part, names in files.items()}
    assert rooms == {"plyd": {"engines", "models", "servers"}, "plyd_client": {"clients", "cluster", "protocols", "v1"}}
    for name in (
        "plyd/v1/engine.proto",
        "plyd/v1/engine_pb2.py",
        "plyd/v1/engine_pb2.pyi",
        "plyd/v1/py.typed",
        "plyd/clients/py.typed",
        "plyd/clients/library/client.py",
        "plyd/clients/web/static/index.html",
        "plyd/protocols/ugi.py",
    ):
        assert name in files["plyd_client"]
    assert {"plyd/engines/registry.py", "plyd/servers/daemon.py", "plyd/models/__init__.py"} <= files["plyd"]
    whole = files["plyd"] | files["plyd_client"]
    assert "plyd/__init__.py" not in whole
    assert not any(re.search(r"node_modules|__pycache__|/hosts/node/|pyproject", name) for name in whole)


def test_every_python_file_of_the_rooms_is_in_a_wheel(wheels):
    whole = {name for wheel in wheels.values() for name in zipfile.ZipFile(wheel).namelist()}
    for room in ("clients", "cluster", "engines", "models", "protocols", "servers"):
        files = [file for file in (ROOT / room).rglob("*.py") if "node_modules" not in file.parts]
        assert {f"plyd/{file.relative_to(ROOT)}" for file in files} <= whole


def test_both_wheels_together_are_plyd(wheels, tmp_path):
    for wheel in wheels.values():
        zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    code = "import plyd.clients.cli, plyd.v1.rules_pb2, plyd.servers.daemon; print(plyd.servers.daemon.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "installed"), "HOME": str(tmp_path)},
        timeout=LONG,
        check=False,
    )
    assert done.stdout == f"{tmp_path}/installed/plyd/servers/daemon.py\n", done.stderr


def test_the_metadata_is_whole_and_has_no_relative_links(wheels):
    for name, wheel in wheels.items():
        found = metadata(wheel)
        assert (found["Name"], found["Version"]) == (name.replace("_", "-"), __version__)
        assert found["Description-Content-Type"] == "text/markdown"
        assert found["Summary"]
        assert found["Keywords"]
        assert {"Typing :: Typed", "Programming Language :: Python :: 3.11"} <= set(found.get_all("Classifier"))
        assert not re.search(r"\]\((?!https?:)", found.get_payload())
    assert wheels["plyd"].stat().st_size < MAX_WHEEL
    assert f"plyd-client=={__version__}" in metadata(wheels["plyd"]).get_all("Requires-Dist")


def test_a_home_makes_links_absolute_and_names_the_projects_pages(tmp_path):
    home = "https://git.example/games/plyd"
    built = build_wheels(tmp_path, "plyd_client", PLYD_HOME_URL=home)
    assert f"Source, {home}" in metadata(built["plyd_client"]).get_all("Project-URL")
    sys.path.insert(0, str(ROOT))
    try:
        from hatch_build import with_absolute_links
    finally:
        sys.path.remove(str(ROOT))
    page = "![a](docs/a.png)\n\n[b](docs/b.md#c), [d](https://d.example)\n"
    assert with_absolute_links(page, home) == (
        f"![a]({home}/raw/main/docs/a.png)\n\n[b]({home}/blob/main/docs/b.md#c), [d](https://d.example)\n"
    )
    assert with_absolute_links(page, "") == "b, [d](https://d.example)\n"


# --- plyd-client alone ------------------------------------------------------------------------------------------------


def test_the_client_needs_five_packages(wheels):
    required = metadata(wheels["plyd_client"]).get_all("Requires-Dist")
    assert {re.split(r"[<>=!~;\[ ]", text)[0] for text in required} == CLIENT_NEEDS


def test_the_client_alone_imports_all_but_the_page_and_load_tests(client_only):
    code = """
import importlib, pkgutil, plyd.clients, plyd.cluster, plyd.v1, plyd.protocols

for package in (plyd.clients, plyd.cluster, plyd.v1, plyd.protocols):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            print(error.name, module.name)
"""
    done = client_only(code)
    assert done.returncode == 0, done.stderr
    failures = [line.split() for line in done.stdout.splitlines()]
    assert failures
    for missing, module in failures:
        assert re.match(NOT_FOR_THE_CLIENT_ALONE[missing.partition(".")[0]], module), (missing, module)


def test_the_client_alone_asks_a_daemon_and_says_what_it_lacks(client_only, solver_address):
    program = "from plyd.clients.cli import main; main()"
    code = """
from plyd.clients import EngineClient
with EngineClient(sys.argv[1]) as engine:
    engine.describe()
    state = engine.inspect("b 2 2 0 0 0 0")
    assert "2584 on 2x3" in state.svg()
    print(engine.search(state.position))
"""
    done = client_only(code, solver_address)
    assert done.stdout.startswith("right: 1,422.3 points"), done.stderr
    assert client_only(program, "health", solver_address).stdout == "SERVING\n"
    commands = client_only(program, "--help").stdout
    assert "  solve " in commands
    assert "  serve " not in commands
    refused = client_only(program, "serve", "gomoku")
    assert (refused.returncode, refused.stderr) == (
        1,
        "Error: serve is a command of the package plyd: pip install plyd\n",
    )
    refused = client_only(program, "http", "--connect", solver_address, "--listen", "127.0.0.1:0")
    assert re.fullmatch(r"Error: http needs \w+: pip install plyd\n", refused.stderr)


@pytest.fixture(scope="module")
def solver_address():
    from plyd.engines import registry
    from tests.servers.daemons import House, OpenDaemon

    house = House()
    with OpenDaemon(house, registry.load("2584-2x3")) as daemon:
        yield daemon.target
    house.close()
