"""The page as an app: its manifest, its icons, its version, and what its service worker keeps."""

import base64
import hashlib
import json
import shutil
import struct

import pytest

from plyd.clients.web.app import STATIC
from plyd.clients.web.shell import Shell
from tests.clients.web.test_bridge import Bridge
from tests.servers.daemons import House

MAX_BYTES = 400_000  # of the page, with the texts of every language
POLICY = ("default-src 'none'", "script-src 'self'", "worker-src 'self'", "manifest-src 'self'")


@pytest.fixture(scope="module")
def bridge():
    house = House()
    bridge = Bridge(house)
    yield bridge
    bridge.close()
    house.close()


def shell_of(worker):
    """What a worker's script is told to keep."""
    return json.loads(worker.decode().split(" = ", 1)[1].split(";\n", 1)[0])


def test_the_worker_keeps_the_page_as_the_bridge_serves_it_and_nothing_of_its_api(bridge):
    _, headers, worker = bridge.get("/service-worker.js")
    assert headers["content-type"].startswith("text/javascript")
    assert headers["cache-control"] == "no-cache"
    assert set(POLICY) <= set(headers["content-security-policy"].split("; "))
    shell, size = shell_of(worker), 0
    for path, integrity in shell["files"].items():
        data = bridge.get(path)[2]
        assert integrity == "sha256-" + base64.b64encode(hashlib.sha256(data).digest()).decode(), path
        size += len(data)
    assert size < MAX_BYTES
    assert all(path == "/" or path.startswith("/static/") for path in shell["files"])
    assert f'data-version="{shell["version"]}"' in bridge.get("/")[2].decode()


@pytest.mark.parametrize("name", ["index.html", "main.js", "style.css", "messages/zh-TW.json"])
def test_a_change_of_any_file_is_another_version_at_once(tmp_path, name):
    static = shutil.copytree(STATIC, tmp_path / "static")
    before = Shell(static)
    assert before.version == Shell(static).version == Shell(STATIC).version
    with (static / name).open("a") as file:
        file.write("\n")
    after = Shell(static)
    assert after.version != before.version
    assert shell_of(after.worker())["version"] == after.version


def test_the_manifest_makes_the_page_installable_and_its_icons_are_what_it_says(bridge):
    _, headers, data = bridge.get("/static/manifest.webmanifest")
    assert headers["content-type"] == "application/manifest+json"
    manifest = json.loads(data)
    assert manifest["start_url"] == manifest["scope"] == manifest["id"] == "/"
    assert manifest["display"] == "standalone"
    found = {}
    for icon in manifest["icons"]:
        _, headers, image = bridge.get(icon["src"])
        assert headers["content-type"] == icon["type"]
        if icon["type"] == "image/png":
            assert image.startswith(b"\x89PNG")
            assert icon["sizes"] == "{}x{}".format(*struct.unpack(">II", image[16:24]))
        found.setdefault(icon["purpose"], set()).add(icon["sizes"])
    assert found == {"any": {"any", "192x192", "512x512"}, "maskable": {"512x512"}}  # what browsers ask for
