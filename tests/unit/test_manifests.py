"""The Kubernetes example fits together: one writer a volume, and every name leads to something."""

from __future__ import annotations

import pytest

from canon_ops.cli.checks import NAMEABLE_CHECKS
from canon_ops.cli.commands.schema import loaded_commands
from tests.support.pods import manifests, of_kind, stateful_set

pytestmark = pytest.mark.checkout


def test_there_is_one_writer_a_volume() -> None:
    """The old pod is gone before the new one is made, and the volume refuses a second one."""
    spec = stateful_set()

    assert spec["replicas"] == 1
    assert spec["updateStrategy"] == {"type": "RollingUpdate"}
    assert [claim["spec"]["accessModes"] for claim in spec["volumeClaimTemplates"]] == [["ReadWriteOncePod"]]


def test_labels_and_names_meet() -> None:
    """Selectors select the pod, and each volume is one that exists."""
    spec = stateful_set()
    pod, labels = spec["template"]["spec"], spec["template"]["metadata"]["labels"]
    volumes = {one["name"] for one in pod["volumes"]} | {
        one["metadata"]["name"] for one in spec["volumeClaimTemplates"]
    }
    mounted = {one["name"] for c in (*pod["initContainers"], *pod["containers"]) for one in c["volumeMounts"]}
    by_name = {one["name"]: one for one in pod["volumes"]}

    assert spec["selector"]["matchLabels"] == of_kind("Service")["spec"]["selector"] == labels
    assert spec["serviceName"] == of_kind("Service")["metadata"]["name"]
    assert mounted == volumes
    assert by_name["prepare"]["configMap"]["name"] == of_kind("ConfigMap")["metadata"]["name"]
    assert by_name["keys"]["secret"]["secretName"] == of_kind("Secret")["metadata"]["name"]
    assert list(of_kind("Secret")["stringData"]) == ["canon"]


def test_every_container_is_confined() -> None:
    """No root, no capability, nothing of the image can be written."""
    pod = stateful_set()["template"]["spec"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    for container in (*pod["initContainers"], *pod["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }  # fmt: skip


@pytest.mark.parametrize(
    ("probe", "check"), [("startup", "probe.live"), ("liveness", "probe.live"), ("readiness", "probe.ready")]
)
def test_a_probe_asks_a_check_that_needs_no_network(probe: str, check: str) -> None:
    """Canon being away makes nobody restart; and a check is given time to start."""
    declared = stateful_set()["template"]["spec"]["containers"][0][f"{probe}Probe"]
    words = declared["exec"]["command"]
    asked = [one for one in NAMEABLE_CHECKS if one.id == words[words.index("--only") + 1]]

    assert words[:2] == ["canon-ops", "doctor"]
    assert [(one.id, one.network) for one in asked] == [(check, False)]
    assert declared["timeoutSeconds"] >= 10


def test_the_script_calls_commands_that_exist() -> None:
    """And each answers without a person."""
    known = {" ".join(words) for each in loaded_commands() for words, _ in each.documents}
    lines = of_kind("ConfigMap")["data"]["prepare.sh"].splitlines()
    called = [line.split() for line in lines if line.startswith("canon-ops ")]

    assert len(called) == 4
    assert all("--no-input" in words for words in called)
    assert all({" ".join(words[1:3]), words[1]} & known for words in called)


def test_no_key_is_an_argument_or_a_variable() -> None:
    """It is a file of the Secret, for the container that needs it alone."""
    pod = stateful_set()["template"]["spec"]
    gateway = pod["containers"][0]

    assert "keys" not in {one["name"] for one in gateway["volumeMounts"]}
    assert not [one for one in gateway["env"] if "KEY" in one["name"]]
    assert "agk_live" not in str([one for one in manifests() if one["kind"] != "Secret"])
