"""The recipes for Ray: Kubernetes' schemas take the pods, Ray's own schema takes the file of machines."""

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from tests.deploy.test_kubernetes import SCHEMAS
from tests.patience import SOON

FOLDER = Path(__file__).parents[2] / "deploy" / "ray"
CLUSTER, *OTHERS = yaml.safe_load_all((FOLDER / "raycluster.yaml").read_text())
MACHINES = yaml.safe_load((FOLDER / "machines.yaml").read_text())
HEAD, [NODES] = CLUSTER["spec"]["headGroupSpec"], CLUSTER["spec"]["workerGroupSpecs"]


def pod(group):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plyd"}, "spec": group["template"]["spec"]}


@pytest.mark.parametrize("version", SCHEMAS)
def test_kubernetes_takes_pods_and_policies(version):
    for thing in (pod(HEAD), pod(NODES), *OTHERS):
        kubernetes_validate.validate(thing, version, strict=True)


def test_the_cluster_is_as_kuberay_describes_it():
    assert (CLUSTER["apiVersion"], CLUSTER["kind"]) == ("ray.io/v1", "RayCluster")
    assert set(CLUSTER["spec"]) == {"rayVersion", "headGroupSpec", "workerGroupSpecs"}
    assert set(HEAD) == {"rayStartParams", "template"}
    assert set(NODES) == {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}
    assert all(isinstance(value, str) for group in (HEAD, NODES) for value in group["rayStartParams"].values())


def test_every_ray_process_asks_for_a_token_and_reports_to_nobody():
    for group in (HEAD, NODES):
        [container] = group["template"]["spec"]["containers"]
        settings = {variable["name"]: variable for variable in container["env"]}
        assert settings["RAY_AUTH_MODE"]["value"] == "token"
        assert "secretKeyRef" in settings["RAY_AUTH_TOKEN"]["valueFrom"]
        assert settings["RAY_USAGE_STATS_ENABLED"]["value"] == "0"
    starts = MACHINES["head_start_ray_commands"] + MACHINES["worker_start_ray_commands"]
    assert all(command.startswith("source ~/plyd-settings && ") for command in starts)
    [settings] = [command for command in MACHINES["setup_commands"] if "RAY_AUTH_TOKEN" in command]
    assert "RAY_AUTH_MODE=token" in settings
    assert "RAY_USAGE_STATS_ENABLED=0" in settings


def test_the_head_has_no_cores_for_workers():
    assert HEAD["rayStartParams"]["num-cpus"] == "0"
    assert any("--num-cpus=0" in command for command in MACHINES["head_start_ray_commands"])


def test_kernels_are_compiled_once_a_node():
    [warm] = NODES["template"]["spec"]["initContainers"]
    assert "plyd warm" in warm["command"][-1]
    assert any("plyd warm" in command for command in MACHINES["setup_commands"])


@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")
def test_ray_takes_the_file_of_machines():
    from ray.autoscaler._private.util import prepare_config, validate_config

    prepared = prepare_config(MACHINES)
    validate_config(prepared)
    [nodes] = prepared["available_node_types"].values()
    assert nodes["min_workers"] == len(MACHINES["provider"]["worker_ips"])


def test_a_linter_has_nothing_against_the_container_file():
    linter = shutil.which("hadolint") or str(Path(__file__).parents[2] / ".venv" / "bin" / "hadolint")
    done = subprocess.run([linter, str(FOLDER / "Containerfile")], capture_output=True, text=True, timeout=SOON)
    assert done.returncode == 0, done.stdout
