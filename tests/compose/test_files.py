"""What the compose file and the image promise: they load, nothing is open without need, nothing floats."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from consumer.settings import Settings
from tests.compose.conftest import BASE, GPU, ROOT, Project, load_compose, tool
from tests.report import COUNTS

PUBLISHED = {"kafka", "grafana"}
ENDS_BY_ITSELF = {"topics", "producer"}


def _services(project: Project) -> Iterator[tuple[str, Project]]:
    COUNTS["promises held against every service"] += 1
    yield from project["services"].items()


def test_the_services_are_those_of_the_page(project: Project) -> None:
    page = (ROOT / "docs/deployment.md").read_text("utf-8")
    assert {name for name, _ in _services(project)} == set(re.findall(r"^\| `([a-z]+)` \|", page, re.M))


def test_without_its_passwords_it_does_not_load(secrets: dict[str, str]) -> None:
    for left_out in secrets:
        answer = load_compose([BASE], {k: v for k, v in secrets.items() if k != left_out})
        assert answer.returncode == 1
        assert f"required variable {left_out} is missing" in answer.stderr


def test_a_key_that_compose_does_not_know_is_refused(secrets: dict[str, str], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("services: {consumer: {read_onyl: true}}\n")
    answer = load_compose([BASE, wrong], secrets)
    assert answer.returncode == 1
    assert "read_onyl" in answer.stderr


def test_no_container_has_more_rights_than_it_needs(project: Project) -> None:
    for name, service in _services(project):
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert int(service["user"].partition(":")[0]) > 0, name
        assert int(service["mem_limit"]) > 0, name
        assert service["pids_limit"] > 0, name
        assert not service.keys() & {"privileged", "cap_add", "network_mode", "pid", "ipc", "devices"}, name


def test_every_mount_of_a_folder_is_read_only_and_exists_where_it_is_ours(project: Project) -> None:
    for name, service in _services(project):
        for mount in service.get("volumes", []):
            if mount["type"] == "bind":
                assert mount["read_only"] is True, name
                assert "deploy" not in mount["source"] or Path(mount["source"]).is_dir(), name


def test_only_kafka_and_grafana_publish_a_port_and_only_on_loopback(project: Project) -> None:
    ports = {name: service["ports"] for name, service in _services(project) if service.get("ports")}
    assert ports.keys() == PUBLISHED
    assert {port["host_ip"] for each in ports.values() for port in each} == {"127.0.0.1"}


def test_only_those_two_are_on_a_network_with_a_way_out(project: Project) -> None:
    assert project["networks"]["inside"]["internal"] is True
    outside = {name for name, service in _services(project) if set(service["networks"]) != {"inside"}}
    assert outside == PUBLISHED


def test_every_image_is_pinned_to_a_whole_version_or_built_here(project: Project) -> None:
    for name, service in _services(project):
        if "build" not in service:
            assert re.search(r":v?\d+\.\d+\.\d+(-[a-z]+)?$", service["image"]), name
    bases = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text("utf-8"), re.M)
    assert bases
    assert all(re.search(r":\d+\.\d+\.\d+-", base) for base in bases)


def test_every_service_that_stays_is_looked_after(project: Project) -> None:
    for name, service in _services(project):
        if name not in ENDS_BY_ITSELF:
            assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}, name
            assert service["restart"] == "unless-stopped", name


def test_no_environment_holds_a_password(project: Project) -> None:
    for name, service in _services(project):
        secret = [key for key in service.get("environment") or {} if re.search("PASSW|SECRET|TOKEN", key)]
        values = [
            service["environment"][key] for key in secret if key != "CONSUMER_SCORING_MAX_PADDED_TOKENS"
        ]
        assert all(value.startswith("/run/secrets/") for value in values), name


def test_every_secret_that_is_named_is_granted(project: Project) -> None:
    for name, service in _services(project):
        granted = {f"/run/secrets/{secret['source']}" for secret in service.get("secrets", [])}
        named = set(re.findall(r"/run/secrets/\w+", json.dumps(service)))
        assert named == granted, name


def test_the_grace_of_a_stop_is_longer_than_the_drain(project: Project) -> None:
    consumer = project["services"]["consumer"]
    drain = float(consumer["environment"]["CONSUMER_SHUTDOWN_DRAIN_TIMEOUT"])
    assert float(consumer["stop_grace_period"].removesuffix("s")) >= drain + 10
    assert drain == Settings().shutdown.drain_timeout


def test_the_signal_reaches_python(project: Project) -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert re.search(r'^ENTRYPOINT \["python", "-m", "consumer"\]$', text, re.M)
    assert re.search(r'^CMD \["run"\]$', text, re.M)
    assert project["services"]["consumer"]["entrypoint"] is None
    assert project["services"]["consumer"]["command"] == ["run"]


def test_the_image_runs_as_the_user_of_the_service(project: Project) -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    users = re.findall(r"^USER (\S+)$", text, re.M)
    assert users == [project["services"]["consumer"]["user"]]


def test_consumers_are_scaled_by_number_and_found_by_name(project: Project) -> None:
    consumer = project["services"]["consumer"]
    assert not consumer.keys() & {"container_name", "hostname", "ports", "scale"}
    text = (ROOT / "deploy/prometheus/prometheus.yml").read_text("utf-8")
    assert "names: [consumer]" in text
    assert f"port: {consumer['environment']['CONSUMER_METRICS_PORT']}" in text


def test_the_gpu_is_an_override_that_leaves_the_rest_alone(project: Project, gpu_project: Project) -> None:
    (device,) = gpu_project["services"]["consumer"]["deploy"]["resources"]["reservations"]["devices"]
    assert device["capabilities"] == ["gpu"]
    changed = {n for n, s in _services(gpu_project) if s != project["services"][n]}
    assert changed == {"consumer"}
    assert (ROOT / GPU).read_text("utf-8").count("image:") == 0


def test_hadolint_has_nothing_to_say() -> None:
    answer = subprocess.run(
        [str(tool("python/bin/hadolint")), str(ROOT / "Dockerfile")],
        check=False,
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    COUNTS["Dockerfiles linted"] += 1


@pytest.mark.parametrize("path", sorted((ROOT / "deploy").rglob("*.sh")), ids=lambda path: path.parent.name)
def test_scripts_are_sound_and_end_by_becoming_what_they_start(path: Path) -> None:
    text = path.read_text("utf-8")
    shell = text.split("\n", 1)[0].removeprefix("#!")
    assert subprocess.run([shell, "-n", str(path)], check=False, capture_output=True).returncode == 0
    assert re.search(r"^set -euo? ?(pipefail)?$", text, re.M)
    if path.name == "start.sh":
        assert text.strip().split("\n")[-1].startswith("exec ")
    COUNTS["scripts parsed"] += 1
