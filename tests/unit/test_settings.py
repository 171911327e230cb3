"""Settings: where they come from, which one counts, and what is said about a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from magnetar.server.settings import Settings, keys
from magnetar.server.settings_load import SettingsError, load_settings, nearest_key
from tools import gen_settings_doc


def refusal(
    config: Path | None = None, environment: dict[str, str] | None = None, options: tuple[str, ...] = ()
) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(config, environment or {}, options)
    return str(caught.value)


def conf(folder: Path, text: str) -> Path:
    file = folder / "broker.conf"
    file.write_text(text, encoding="utf-8")
    return file


def test_without_any_source_there_are_the_defaults() -> None:
    loaded = load_settings(environment={})
    assert loaded.settings == Settings()
    assert (loaded.origins, loaded.warnings) == ({}, [])


def test_a_default_broker_is_open_to_this_machine_only() -> None:
    assert Settings().bindAddress == "127.0.0.1"


def test_the_stronger_source_counts_and_is_named(tmp_path: Path) -> None:
    file = conf(tmp_path, "\n".join(f"{name}=1" for name in ("brokerServicePort", "webServicePort", "maxMessageSize")))
    environment = {"PULSAR_PREFIX_brokerServicePort": "3", "brokerServicePort": "2", "webServicePort": "2"}
    loaded = load_settings(file, environment, ["brokerServicePort=4"])
    assert loaded.settings.brokerServicePort == 4
    assert loaded.settings.webServicePort == 2
    assert loaded.settings.maxMessageSize == 1
    assert loaded.origins["brokerServicePort"] == "option -o brokerServicePort=4"
    assert loaded.origins["webServicePort"] == "environment variable webServicePort"
    assert loaded.origins["maxMessageSize"] == f"{file} line 3"
    assert load_settings(file, environment).settings.brokerServicePort == 3


def test_a_file_is_read_as_java_reads_it(tmp_path: Path) -> None:
    file = conf(
        tmp_path,
        "# a comment\n"
        "! another\n"
        "\n"
        "  clusterName = a\\u0062c \n"
        "maxMessageSize: 7\r\n"
        "allowAutoTopicCreation false\n"
        "superUserRoles=one, two,\\\n"
        "    three\n"
        "webServicePort=\n"
        "keepAliveIntervalSeconds=\n",
    )
    settings = load_settings(file, {}).settings
    assert settings.clusterName == "abc"
    assert settings.maxMessageSize == 7
    assert settings.allowAutoTopicCreation is False
    assert settings.superUserRoles == ("one", "two", "three")
    assert settings.webServicePort is None
    assert settings.keepAliveIntervalSeconds == 30


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("brokerServicePort=70000", "brokerServicePort cannot be '70000': a whole number from 0 to 65535 is expected"),
        ("brokerServicePort=6650x", "brokerServicePort cannot be '6650x': a whole number from 0 to 65535 is expected"),
        ("maxMessageSize=0", "maxMessageSize cannot be '0': a whole number, 1 or more is expected"),
        ("maxMessageSize=1_000", "maxMessageSize cannot be '1_000': a whole number, 1 or more is expected"),
        ("defaultRetentionTimeInMinutes=-2", "a whole number, -1 or more is expected"),
        ("allowAutoTopicCreation=yes", "allowAutoTopicCreation cannot be 'yes': true or false is expected"),
        (
            "backlogQuotaDefaultLimitGB=nan",
            "backlogQuotaDefaultLimitGB cannot be 'nan': a number, -1 or more is expected",
        ),
        ("backlogQuotaDefaultLimitGB=1e999", "a number, -1 or more is expected"),
        ("allowAutoTopicCreationType=both", "one of non-partitioned, partitioned is expected"),
        ("subscriptionTypesEnabled=Shared,Any", "of some of Exclusive, Shared, Failover, Key_Shared is expected"),
        ("subscriptionTypesEnabled=,", "of some of Exclusive, Shared, Failover, Key_Shared is expected"),
        ("maxMessageSize", "option -o maxMessageSize: key=value is expected"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_expected(option: str, said: str) -> None:
    assert said in refusal(options=(option,))


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    file = conf(tmp_path, "\nmaxMessageSize=big\n")
    lines = refusal(file, {"webServicePort": "-1"}, ("nonsense=1", "brokerServicePort=x")).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"{file} line 2",
        "environment variable webServicePort",
        "option -o nonsense=1",
        "option -o brokerServicePort=x",
    ]


def test_a_weaker_value_must_be_right_too(tmp_path: Path) -> None:
    assert "line 1" in refusal(conf(tmp_path, "maxMessageSize=big"), {}, ("maxMessageSize=7",))


def test_an_unknown_key_is_named_with_the_nearest_right_one(tmp_path: Path) -> None:
    file = conf(tmp_path, "maxMesageSize=7\nnumIOThreads=8\n")
    shouted = "PULSAR_PREFIX_CLUSTERNAME"
    loaded = load_settings(file, {shouted: "x", "UNRELATED": "y", "PULSAR_MEM": "-Xmx1g"})
    assert loaded.settings == Settings()
    assert loaded.warnings == [
        f"{file} line 1: there is no setting 'maxMesageSize'; did you mean maxMessageSize?; it is ignored",
        f"{file} line 2: there is no setting 'numIOThreads'; it is ignored",
        f"environment variable {shouted}: there is no setting 'CLUSTERNAME'; did you mean clusterName?; it is ignored",
    ]
    assert "did you mean maxMessageSize?" in refusal(options=("maxMesageSize=7",))


@pytest.mark.parametrize(("wrong", "right"), [("brokerport", "brokerServicePort"), ("ttl", None), ("", None)])
def test_only_a_near_key_is_suggested(wrong: str, right: str | None) -> None:
    assert nearest_key(wrong) == right


def test_a_setting_without_effect_is_pointed_out() -> None:
    loaded = load_settings(environment={"internalListenerName": "inside", "tokenSecretKey": ""})
    (warning,) = loaded.warnings
    assert "internalListenerName is understood, but has no effect in this version" in warning


def test_a_broker_that_would_only_look_closed_does_not_start() -> None:
    refused = [key for key in keys().values() if key.refused]
    assert {"authenticationEnabled", "authorizationEnabled", "brokerServicePortTls"} <= {key.name for key in refused}
    for key in refused:
        text = "true" if key.kind is bool else "7"
        assert f"{key.name} cannot be changed" in refusal(options=(f"{key.name}={text}",))
    assert load_settings(options=["authenticationEnabled=false"], environment={}).settings == Settings()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    said = refusal(tmp_path / "none.conf")
    assert "none.conf cannot be read" in said


def test_every_key_has_a_sentence_and_a_default_that_it_would_take() -> None:
    for key in keys().values():
        assert key.text.endswith("."), key.name
        assert key.name[0].islower(), key.name
        if isinstance(key.default, int | float) and not isinstance(key.default, bool):
            assert key.at_least is not None, key.name
            assert key.at_least <= key.default, key.name


def test_the_page_in_the_documentation_is_up_to_date() -> None:
    assert gen_settings_doc.PAGE.read_text(encoding="utf-8") == gen_settings_doc.page(), "run tools/gen_settings_doc.py"
