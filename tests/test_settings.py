"""Settings: read once, frozen, and clear about what is wrong."""

from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from holdfast.errors import InvalidInput
from holdfast.settings import ModelPrice, load_settings


@pytest.fixture(autouse=True)
def _no_file_of_the_developers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("holdfast.toml").write_text('pool_size = 3\nlog_format = "json"\n')
    monkeypatch.setenv("HOLDFAST_POOL_SIZE", "5")
    settings = load_settings()
    assert (settings.pool_size, settings.log_format) == (5, "json")


def test_pipelines_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_PIPELINES", "house.flows:documents, house.flows:mail")
    assert load_settings().pipelines == ("house.flows:documents", "house.flows:mail")


def test_a_list_in_the_environment_is_refused_instead_of_taken_for_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_ALLOWED_HOSTS", '["127.0.0.1"]')
    with pytest.raises(InvalidInput, match="HOLDFAST_ALLOWED_HOSTS is invalid: names stand between commas"):
        load_settings()


def test_pipelines_in_the_file_are_a_list() -> None:
    Path("holdfast.toml").write_text('pipelines = ["house.flows:documents"]\n')
    assert load_settings().pipelines == ("house.flows:documents",)


def test_secrets_of_hooks_are_an_object_in_the_environment_and_a_table_in_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("holdfast.toml").write_text('[hook_secrets]\nparser = ["one", "two"]\n')
    assert [one.get_secret_value() for one in load_settings().hook_secrets["parser"]] == ["one", "two"]
    monkeypatch.setenv("HOLDFAST_HOOK_SECRETS", '{"parser": "three"}')
    settings = load_settings()
    assert [one.get_secret_value() for one in settings.hook_secrets["parser"]] == ["three"]
    assert "three" not in repr(settings)


@pytest.mark.parametrize("value", ["hidden", '["hidden"]', '{"parser": {"hidden": 1}}', '{"parser": 7}', '{"A B": ""}'])
def test_bad_secrets_of_hooks_are_refused_without_showing_them(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HOLDFAST_HOOK_SECRETS", value)
    with pytest.raises(InvalidInput, match="HOLDFAST_HOOK_SECRETS") as refused:
        load_settings()
    assert "hidden" not in str(refused.value)


def test_prices_are_an_object_in_the_environment_and_a_table_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("holdfast.toml").write_text("[prices]\ngpt-5-mini = { input = 0.25, output = 2 }\n")
    assert load_settings().prices == {"gpt-5-mini": ModelPrice(input=Decimal("0.25"), output=Decimal(2))}
    monkeypatch.setenv("HOLDFAST_PRICES", '{"whisper-1": {"minute": 0.006}}')
    assert load_settings().prices == {"whisper-1": ModelPrice(minute=Decimal("0.006"))}


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("0.25/2", 'write it as {"model"'),
        ("[]", ""),
        ('{"gpt-5": 3}', "gpt-5"),
        ('{"gpt-5": {"input": -1}}', r"gpt-5\.input"),
        ('{"gpt-5": {"inptu": 1}}', r"gpt-5\.inptu"),
        ('{"gpt-5": {"input": NaN}}', r"gpt-5\.input"),
    ],
)
def test_bad_price_is_refused_by_its_place(monkeypatch: pytest.MonkeyPatch, value: str, place: str) -> None:
    monkeypatch.setenv("HOLDFAST_PRICES", value)
    with pytest.raises(InvalidInput, match=f"HOLDFAST_PRICES is invalid.*{place}"):
        load_settings()


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        load_settings().pool_size = 1


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HOLDFAST_POOL_SIZE", "many"),
        ("HOLDFAST_POOL_SIZE", "0"),
        ("HOLDFAST_POLL_SECONDS", "-1"),
        ("HOLDFAST_LEASE_SECONDS", "3"),
        ("HOLDFAST_LOG_FORMAT", "xml"),
        ("HOLDFAST_PIPELINES", "house.flows"),
        ("HOLDFAST_DATABASE_URL", "mysql://here"),
        ("HOLDFAST_CONFIG", "absent.toml"),
    ],
)
def test_bad_value_names_its_variable(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidInput, match=variable):
        load_settings()


def test_misspelt_key_in_the_file_is_named() -> None:
    Path("holdfast.toml").write_text("pool_sise = 3\n")
    with pytest.raises(InvalidInput, match=r"pool_sise in holdfast\.toml is not a setting"):
        load_settings()


def test_file_that_is_no_toml_is_named() -> None:
    Path("holdfast.toml").write_text("pool_size 3\n")
    with pytest.raises(InvalidInput, match=r"holdfast\.toml is not valid TOML"):
        load_settings()


def test_password_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", "postgresql://ada:lovelace@db/holdfast")
    assert "lovelace" not in repr(load_settings()) + str(load_settings())


def test_password_is_not_shown_when_the_url_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", "mysql://ada:lovelace@db/holdfast")
    with pytest.raises(InvalidInput) as caught:
        load_settings()
    assert "lovelace" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://s3cret", "smtp://", "smtp://host:s3cret", "smtp://s3cret@", "smtp://[s3cret"])
def test_bad_address_of_a_mail_server_is_refused_unshown(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("HOLDFAST_SMTP_URL", url)
    with pytest.raises(InvalidInput, match="HOLDFAST_SMTP_URL is invalid: write it as") as refused:
        load_settings()
    assert "s3cret" not in str(refused.value)


def test_mail_needs_all_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_ALERT_MAIL_TO", "a@example.org, b@example.org")
    with pytest.raises(InvalidInput, match="belong together"):
        load_settings()
    monkeypatch.setenv("HOLDFAST_ALERT_MAIL_FROM", "holdfast@example.org")
    monkeypatch.setenv("HOLDFAST_SMTP_URL", "smtp://user:s3cret@mail.example.org")
    settings = load_settings()
    assert settings.alert_mail_to == ("a@example.org", "b@example.org")
    assert "s3cret" not in repr(settings)
