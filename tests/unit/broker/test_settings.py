from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from memshare.operate.data_folder import tell_models
from memshare.operate.supervisor import environment_of
from memshare_broker.errors import BadInput
from memshare_broker.settings import OwnSettings, Role, Settings, load_settings


def test_nothing_has_to_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")

    settings = load_settings()

    assert settings.data == Path("/home/ada/.memshare")
    assert settings.redis == "unix:///home/ada/.memshare/redis.sock?db=0"
    assert settings.qdrant_url is None
    assert settings.prompt_limit == 20_000


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSHARE_DATA", "~/pool")
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("MEMSHARE_REDIS_URL", "redis://queue:6380/2")
    monkeypatch.setenv("MEMSHARE_TRIES", "2")
    monkeypatch.setenv("MEMSHARE_MODEL", "")

    settings = load_settings()

    assert settings.data == Path("/home/ada/pool")
    assert settings.redis == "redis://queue:6380/2"
    assert settings.tries == 2
    assert settings.model is None


def test_a_relative_folder_is_the_same_wherever_a_process_stands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMSHARE_DATA", "pool")
    monkeypatch.setenv("MEMSHARE_AGENTS_DIR", "mine")

    settings = load_settings()

    assert (settings.data, settings.agents_dir) == (tmp_path / "pool", tmp_path / "mine")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("MEMSHARE_PROMPT_LIMIT", "many", "valid integer"),
        ("MEMSHARE_PROMPT_LIMIT", "0", "greater than or equal to 1"),
        ("MEMSHARE_SCORER_VOTES", "10", "less than or equal to 9"),
        ("MEMSHARE_MODEL_TIMEOUT", "3601", "less than or equal to 3600"),
        ("MEMSHARE_TRIES", "0", "greater than or equal to 1"),
        ("MEMSHARE_LEASE", "-1", "greater than 0"),
        ("MEMSHARE_KEEP_DAYS", "forever", "valid number"),
        *((f"MEMSHARE_MODEL{role}", "gpt", "expected openai:NAME") for role in ("", "_AGENTS", "_SCORER", "_TRAINER")),
        ("MEMSHARE_MODEL", "openai:", "expected openai:NAME, mistral:NAME, or offline for none"),
        ("MEMSHARE_MODEL", "gpt:openai", "expected openai:NAME"),
        ("MEMSHARE_DEVICE", "gpu", "expected cpu, cuda, cuda:N or mps"),
        ("MEMSHARE_DEVICE", "cuda:", "expected cpu, cuda, cuda:N or mps"),
        ("MEMSHARE_DEVICE", "cpu:0", "expected cpu, cuda, cuda:N or mps"),
        ("MEMSHARE_LESSON_SHARE", "1.1", "less than or equal to 1"),
        ("MEMSHARE_LESSON_SHARE", "-0.1", "greater than or equal to 0"),
        ("MEMSHARE_LESSON_SHARE", "nan", "less than or equal to 1"),
        ("MEMSHARE_LESSONS_KEPT", "99", "greater than or equal to 100"),
        ("MEMSHARE_REDIS_URL", "localhost:6379", "expected redis://HOST:PORT/DB"),
        ("MEMSHARE_REDIS_URL", "http://localhost:6379", "expected redis://HOST:PORT/DB"),
        ("MEMSHARE_REDIS_URL", "redis://localhost:many", "expected redis://HOST:PORT/DB"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_the_name_of_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, reason: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(BadInput) as caught:
        load_settings()

    message = str(caught.value)
    assert message.startswith(f"{name}='{value}' cannot be used: ")
    assert reason in message
    assert "Value error" not in message


@pytest.mark.parametrize("password", ["secret", "sec/ret", "sec@ret"])
def test_the_password_of_a_url_that_cannot_be_used_is_not_shown(password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSHARE_REDIS_URL", f"redis://ada:{password}@queue:many")

    with pytest.raises(BadInput, match=r"MEMSHARE_REDIS_URL='redis://…@queue:many' cannot be used") as caught:
        load_settings()

    assert "sec" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["redis://localhost", "rediss://ada:secret@queue:6379/0", "unix:///run/redis.sock?db=1"]
)
def test_every_form_of_a_redis_url_is_taken(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("MEMSHARE_REDIS_URL", url)

    assert load_settings().redis == url


@pytest.mark.parametrize("model", ["openai:gpt-5.6-luna", "openai:hf.co/Qwen:1.5b", "mistral:small", "offline"])
def test_every_form_of_a_model_is_taken(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    monkeypatch.setenv("MEMSHARE_MODEL", model)

    assert load_settings().model == model


def test_a_model_without_its_provider_is_named_with_its_line_in_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEMSHARE_DATA", str(tmp_path))
    (tmp_path / "memshare.toml").write_text('tries = 2\nmodel = "gpt"\n')

    with pytest.raises(BadInput, match=r"memshare\.toml.*2.*model.*openai:NAME"):
        load_settings()


@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:1", "mps"])
def test_every_form_of_a_device_is_taken(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setenv("MEMSHARE_DEVICE", device)

    assert load_settings().device == device


def test_the_encoders_lie_in_the_data_folder_or_in_one_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("MEMSHARE_DATA", str(tmp_path))
    assert load_settings().encoders_dir == tmp_path / "encoders"

    monkeypatch.setenv("MEMSHARE_ENCODERS", "~/shared")
    assert load_settings().encoders_dir == Path("/home/ada/shared")


def test_a_key_is_not_shown_when_settings_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSHARE_QDRANT_API_KEY", "very-secret")

    settings = load_settings()

    assert settings.qdrant_api_key is not None
    assert "very-secret" not in repr(settings)


def test_a_role_has_its_own_model_or_the_common_one() -> None:
    settings = Settings(model="offline", model_scorer="openai:strict")

    assert settings.model_for("scorer") == "openai:strict"
    assert settings.model_for("agents") == "offline"
    assert settings.model_for("trainer") == "offline"


@pytest.mark.parametrize("role", ["agents", "scorer", "trainer"])
def test_each_role_has_a_variable_of_its_own(monkeypatch: pytest.MonkeyPatch, role: Role) -> None:
    monkeypatch.setenv(f"MEMSHARE_MODEL_{role.upper()}", "openai:mine")

    assert load_settings().model_for(role) == "openai:mine"


@pytest.mark.parametrize(
    ("keys", "model"),
    [
        ([], "offline"),
        (["MISTRAL_API_KEY"], "mistral:mistral-small-latest"),
        (["OPENAI_API_KEY"], "openai:gpt-5.6-luna"),
        (["MISTRAL_API_KEY", "OPENAI_API_KEY"], "openai:gpt-5.6-luna"),
    ],
)
def test_without_a_model_the_keys_decide(monkeypatch: pytest.MonkeyPatch, keys: list[str], model: str) -> None:
    for key in keys:
        monkeypatch.setenv(key, "a key")

    assert load_settings().model_for("agents") == model


def test_a_model_that_is_set_wins_over_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")

    assert Settings(model="offline").model_for("agents") == "offline"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a data folder, which settings are read of."""
    monkeypatch.setenv("MEMSHARE_DATA", str(tmp_path))
    monkeypatch.setenv("OPENAI_BASE_URL", "")  # is put back
    monkeypatch.delenv("OPENAI_BASE_URL")
    return tmp_path / "memshare.toml"


def test_settings_come_from_the_file_of_the_data_folder_and_the_environment_counts_more(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('model = "openai:qwen3"\ntries = 2\nopenai_base_url = "http://localhost:11434/v1"\n')
    monkeypatch.setenv("MEMSHARE_TRIES", "3")

    settings = load_settings()

    assert (settings.model, settings.tries) == ("openai:qwen3", 3)
    assert os.environ["OPENAI_BASE_URL"] == "http://localhost:11434/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://mine/v1")
    load_settings()
    assert os.environ["OPENAI_BASE_URL"] == "http://mine/v1"


def test_a_file_that_is_named_counts_in_place_of_the_one_in_the_data_folder(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("tries = 2\n")
    (tmp_path / "other.toml").write_text("tries = 4\n")
    monkeypatch.setenv("MEMSHARE_CONFIG", str(tmp_path / "other.toml"))

    assert load_settings().tries == 4
    monkeypatch.setenv("MEMSHARE_CONFIG", str(tmp_path / "gone.toml"))
    with pytest.raises(BadInput, match=r"gone\.toml"):
        load_settings()


@pytest.mark.parametrize("line", ["trys = 2", "tries = 0", 'tries = "many"', "tries ="])
def test_what_cannot_be_used_of_a_file_is_named_with_its_line(file: Path, line: str) -> None:
    file.write_text(f"# mine\n{line}\n")

    with pytest.raises(BadInput, match=rf"memshare\.toml:2: .*{'tr' if '= ' in line else ''}"):
        load_settings()


def test_processes_get_what_a_file_said_and_not_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('redis_url = "redis://queue:6380/2"\nmemory_token = "secret"\ntries = 2\n')
    monkeypatch.setenv("MEMSHARE_CONFIG", str(file))
    monkeypatch.setenv("MEMSHARE_TRIES", "3")

    own = environment_of(load_settings().model_copy(update={"redis_url": None}))

    assert "MEMSHARE_REDIS_URL" not in own
    assert "MEMSHARE_CONFIG" not in own
    assert (own["MEMSHARE_MEMORY_TOKEN"], own["MEMSHARE_TRIES"]) == ("secret", "3")


def test_a_second_terminal_has_the_models_of_up_while_it_runs(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as running:
        with monkeypatch.context() as first:
            first.setenv("OPENAI_BASE_URL", "http://localhost:11434/v1")
            first.setenv("MEMSHARE_MODEL", "openai:qwen3")
            first.setenv("MEMSHARE_MODEL_TIMEOUT", "8")
            running.enter_context(tell_models(load_settings()))

        told = load_settings()
        assert (told.model, os.environ["OPENAI_BASE_URL"]) == ("openai:qwen3", "http://localhost:11434/v1")
        assert told.model_timeout == 8
        assert load_settings(kind=OwnSettings).model is None
        file.write_text('model = "mistral:small"\n')
        assert load_settings().model == load_settings(kind=OwnSettings).model == "mistral:small"
        monkeypatch.setenv("MEMSHARE_MODEL", "offline")
        assert load_settings().model == "offline"
        monkeypatch.delenv("MEMSHARE_MODEL")
        file.unlink()

    assert load_settings().model is None


def test_the_model_of_an_up_that_was_killed_is_not_used(file: Path) -> None:
    (file.parent / "running.toml").write_text('model = "openai:qwen3"\n')

    assert load_settings().model is None


@pytest.mark.parametrize(("url", "embedded"), [(None, True), ("", True), ("http://qdrant:6333", False)])
def test_a_pool_is_embedded_where_no_server_is_named(url: str | None, embedded: bool) -> None:
    assert Settings(qdrant_url=url).pool_is_embedded is embedded


@pytest.mark.parametrize("name", Settings.model_fields)
def test_a_variable_that_is_nearly_that_of_a_setting_is_named_with_it(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slips = {f"MEMSHARE_{name[:at]}{name[at + 1 :]}".upper() for at in range(1, len(name))}
    slips |= {f"MEMSHARE_{name}{name[-1]}".upper(), f"MEMSHARE_{name}S".upper()}
    slips -= {f"MEMSHARE_{one}".upper() for one in Settings.model_fields}
    for slip in slips:
        monkeypatch.setenv(slip, "1")

    load_settings()

    said = {line.split()[0]: line for line in caplog.messages}
    assert said.keys() == slips
    near = [slip for slip, line in said.items() if f"Did you mean MEMSHARE_{name.upper()}?" in line]
    assert len(near) > len(slips) * 0.8  # others are as near to the name of another setting


@pytest.mark.parametrize("name", ["MEMSHARE_WORKERS", "memshare_workers", "MEMSHARE_", "MEMSHARE_SHOW_ALL"])
def test_a_variable_that_is_like_no_setting_is_named_too(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(name, "4")

    load_settings()

    [line] = caplog.messages
    assert line.startswith(f"{name} ")
    assert "docs/settings.md" in line


SERVICES = ("MEMSHARE", "MEMSHARE_SERVE", "MEMSHARE_REDIS", "MEMSHARE_MEMORY", "MEMSHARE_METRICS", "MEMSHARE_METRIC")
OF_A_SERVICE = {
    "SERVICE_HOST": "10.96.0.7",
    "SERVICE_PORT": "6379",
    "SERVICE_PORT_HTTP": "6379",
    "PORT": "tcp://10.96.0.7:6379",
    "PORT_6379_TCP": "tcp://10.96.0.7:6379",
    "PORT_6379_TCP_PROTO": "tcp",
    "PORT_6379_TCP_PORT": "6379",
    "PORT_6379_TCP_ADDR": "10.96.0.7",
    "PORT_53_UDP": "udp://10.96.0.7:53",
}
"""What Kubernetes sets for each service of a namespace, after the service's name."""


@pytest.mark.parametrize("service", SERVICES)
def test_the_variables_of_a_service_of_kubernetes_are_passed_over(
    service: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in OF_A_SERVICE.items():
        monkeypatch.setenv(f"{service}_{name}", value)

    assert load_settings().metrics_port is None
    assert caplog.messages == []


def test_a_slip_that_looks_like_the_port_of_a_service_is_named_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MEMSHARE_METRIC_PORT", "9100")
    monkeypatch.setenv("MEMSHARE_SERVE_PORT", "8780")

    load_settings()

    [line] = caplog.messages
    assert "MEMSHARE_METRICS_PORT" in line


@pytest.mark.parametrize(
    ("name", "value"),
    [("MEMSHARE_CONCURENCY", ""), ("MEMSHARE_IMAGE", "memshare:1"), ("MEMSHARE_TEST_QDRANT_URL", "http://127.0.0.1:1"),
     ("MEMSHAREX", "1"), ("XMEMSHARE_TRIES", "1"), ("memshare_tries", "1")],
)  # fmt: skip
def test_what_is_empty_or_of_others_is_no_slip(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(name, value)

    load_settings()

    assert caplog.messages == []


def test_a_slip_is_said_once_on_standard_error_and_stops_nothing() -> None:
    program = "from memshare_broker.settings import load_settings; print(load_settings() == load_settings())"
    environment = os.environ | {"MEMSHARE_CONCURENCY": "9"}

    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)

    assert done.stdout == "True\n"
    [line] = done.stderr.splitlines()
    assert "MEMSHARE_CONCURENCY" in line
    assert "MEMSHARE_CONCURRENCY?" in line


def test_a_slip_is_said_in_json_where_logs_are_json() -> None:
    load = "from memshare_broker.settings import load_settings; from memshare_broker.observe.logs import set_up; "
    program = load + "set_up(load_settings().log_format); load_settings(); load_settings()"
    environment = os.environ | {"MEMSHARE_CONCURENCY": "9", "MEMSHARE_LOG_FORMAT": "json"}

    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)

    [line] = done.stderr.splitlines()
    assert json.loads(line)["level"] == "warning"
    assert "MEMSHARE_CONCURRENCY?" in json.loads(line)["message"]


def test_a_file_that_begins_with_a_byte_order_mark_is_read(file: Path) -> None:
    file.write_text("tries = 3\n", encoding="utf-8-sig")

    assert load_settings().tries == 3
    file.write_text("tries = 3\ntrys = 2\n", encoding="utf-8-sig")
    with pytest.raises(BadInput, match=r"memshare\.toml:2: trys"):
        load_settings()
