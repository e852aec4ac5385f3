"""What is exported, what is documented and what the dashboard shows are the same metrics."""

import json
import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, ProcessCollector

from plyd.servers.runtime import Capacity, Runtime
from plyd.servers.telemetry.exporter import DaemonCollector
from tests.servers.fakes import FakeEngine

ROOT = Path(__file__).parent.parent
BOARD = json.loads((ROOT / "deploy/grafana/plyd.json").read_text())
PAGE = (ROOT / "docs/metrics.md").read_text()
PARTS = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("_total",), "info": ("_info",), "gauge": ("",)}


@pytest.fixture(scope="module")
def families():
    """Every family of metrics that a daemon exports, after it has done something of everything."""
    runtime = Runtime({"sticks": FakeEngine()}, Capacity(slots=1))
    runtime.addresses = ["127.0.0.1:25840"]
    metrics = runtime.observer.metrics
    metrics.call_ended("Search", "OK", "gui", 0.1)
    metrics.shed("queue_full", "gui")
    metrics.known["sticks"] += 1
    metrics.search_went_on("sticks", 1)
    metrics.search_ended("sticks", "time", 0.1, 0.1, 0.1)
    registry = CollectorRegistry()
    registry.register(DaemonCollector(runtime))
    ProcessCollector(registry=registry)
    families = list(registry.collect())
    assert all(family.samples for family in families)
    runtime.close()
    return families


def documented():
    """Name, type and labels of each metric in the table."""
    rows = re.findall(r"^\| `(plyd_\w+)` \| (\w+) \|([^|]*)\|", PAGE, re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def test_every_metric_is_documented_with_its_type_and_labels_and_no_other(families):
    exported = {}
    for family in families:
        if family.name.startswith("plyd_"):
            suffix = "" if family.type in ("histogram", "gauge") else PARTS[family.type][0]
            kind = "gauge" if family.type == "info" else family.type  # as Prometheus sees it
            exported[family.name + suffix] = (kind, {*family.samples[0].labels} - {"le"})
    assert documented() == exported


def test_what_the_page_says_of_the_process_is_exported(families):
    named = set(re.findall(r"`(process_\w+)`", PAGE))
    assert named == {sample.name for family in families for sample in family.samples if family.name[:5] != "plyd_"}


def expressions():
    return [target["expr"] for panel in BOARD["panels"] for target in panel.get("targets", ())]


def test_the_dashboard_asks_only_for_what_is_exported_and_for_all_of_it(families):
    exported = {family.name + part for family in families for part in PARTS[family.type]}
    asked = {name for text in expressions() for name in re.findall(r"\b(?:plyd|process)_\w+", text)}
    assert asked <= exported
    unseen = [
        f.name for f in families if f.name.startswith("plyd_") and not any(f.name + p in asked for p in PARTS[f.type])
    ]
    assert unseen == []


def test_the_dashboard_asks_only_by_labels_that_there_are(families):
    labels = {label for family in families for sample in family.samples for label in sample.labels}
    for text in expressions():
        named = re.findall(r"(\w+)(?:=~|!=|=)\"", text) + re.findall(
            r"\w+", " ".join(re.findall(r"by \((.*?)\)", text))
        )
        assert set(named) <= labels | {"instance"}, text


def test_panels_have_their_own_ids_and_places_and_the_data_source_that_was_chosen():
    panels = BOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
        assert panel["title"]
        if panel["type"] != "row":
            assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}
            assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    [source, instance] = BOARD["templating"]["list"]
    assert (source["name"], source["type"], source["query"]) == ("datasource", "datasource", "prometheus")
    assert instance["query"]["query"] == "label_values(plyd_ready, instance)"
