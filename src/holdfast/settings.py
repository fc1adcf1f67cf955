"""Everything that can be configured, in one frozen object read from the environment and holdfast.toml."""

import os
import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from holdfast import json_codec
from holdfast.dsn import parse_dsn
from holdfast.errors import InvalidInput

DEFAULT_FILE = Path("holdfast.toml")
LLM_TASKS = ("context", "graph")
Names: TypeAlias = Annotated[tuple[str, ...], NoDecode]
HookSecrets: TypeAlias = Annotated[dict[str, tuple[SecretStr, ...]], NoDecode]

Usd: TypeAlias = Annotated[Decimal, Field(ge=0)]

_PROVIDER = re.compile(r"[a-z][a-z0-9_-]{0,62}")


class ModelPrice(BaseModel):
    """US dollars: for a million tokens read, read again from a cache, and written; for a minute of a recording."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Usd | None = None
    cached: Usd | None = None
    output: Usd | None = None
    minute: Usd | None = None


class Settings(BaseSettings):
    """What an operator may choose. A variable of the environment wins over the file.

    The database's URLs may carry a password, so no representation and no error shows them.
    """

    model_config = SettingsConfigDict(env_prefix="HOLDFAST_", frozen=True, extra="forbid", hide_input_in_errors=True)

    database_url: str | None = Field(default=None, repr=False)
    database_direct_url: str | None = Field(default=None, repr=False)
    home: Path = Path("~/.holdfast")
    pipelines: Names = ()
    heartbeat_seconds: float = Field(default=2.5, gt=0)
    lease_seconds: float = Field(default=10.0, gt=0)
    sweep_seconds: float = Field(default=2.0, gt=0)
    poll_seconds: float = Field(default=0.5, gt=0)
    pool_size: int = Field(default=4, ge=1, le=500)
    migrate_wait_seconds: float = Field(default=600.0, ge=0)
    log_format: Literal["auto", "json", "console"] = "auto"

    organisation: str = Field(default="default", min_length=1, max_length=255)
    storage_url: str | None = None
    most_file_mb: int = Field(default=2048, ge=1)
    most_text_mb: int = Field(default=2048, ge=1)
    allowed_hosts: Names = ()
    languages: Names = ()
    chunk_tokens: int = Field(default=400, ge=50, le=8000)
    chunk_overlap_tokens: int = Field(default=40, ge=0, le=1000)
    superseded_days: float = Field(default=7, ge=0)

    api_calls_per_minute: int = Field(default=600, ge=1)
    hook_secrets: HookSecrets = {}

    alert_mail_to: Names = ()
    alert_mail_from: str | None = None
    smtp_url: SecretStr | None = None

    embedder: Literal["light", "openai"] = "light"
    embedder_base_url: str = "https://api.openai.com/v1"
    embedder_api_key: SecretStr | None = None
    embedder_model: str = "text-embedding-3-small"
    embedder_dimension: int = Field(default=1536, ge=1, le=4000)
    embedder_shortens: bool = False

    transcriber: Literal["auto", "whisper", "openai", "deepgram", "none"] = "auto"
    transcriber_base_url: str | None = None
    transcriber_api_key: SecretStr | None = None
    transcriber_model: str | None = None
    transcriber_folder: Path | None = None

    llm_base_url: str | None = None
    llm_api_key: SecretStr | None = None
    llm_model: str | None = None
    llm_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    llm_calls_at_once: int = Field(default=1, ge=1, le=64)
    llm_tasks: Names = ("context", "graph")

    prices: Annotated[dict[str, ModelPrice], NoDecode] = {}

    stories_daily_usd: Decimal = Field(default=Decimal(5), ge=0)
    stories_estimate_usd: Decimal = Field(default=Decimal("0.003"), ge=0)

    @field_validator("database_url", "database_direct_url")
    @classmethod
    def _is_a_connection_string(cls, url: str | None, info: ValidationInfo) -> str | None:
        if not url:
            return None
        parse_dsn(url, setting=f"HOLDFAST_{str(info.field_name).upper()}")
        return url

    @field_validator("home", mode="after")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

    @field_validator("pipelines", "allowed_hosts", "languages", "llm_tasks", "alert_mail_to", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        if '"' in value or "'" in value:
            raise ValueError("names stand between commas, without quotes: one,two")
        return tuple(name.strip() for name in value.split(",") if name.strip())

    @field_validator("hook_secrets", mode="before")
    @classmethod
    def _secrets_by_provider(cls, value: object) -> object:
        value = _decoded(value, form='{"provider": "whsec_…"}')
        if not isinstance(value, dict):
            raise ValueError("it names a secret, or several, for each provider")
        for provider in value:
            if not _PROVIDER.fullmatch(provider):
                raise ValueError(f'"{provider}" is no name of a provider: use lower-case letters, digits, _ and -')
        return {provider: [one] if isinstance(one, str) else one for provider, one in value.items()}

    @field_validator("prices", mode="before")
    @classmethod
    def _prices_by_model(cls, value: object) -> object:
        return _decoded(value, form='{"model": {"input": 0.25, "output": 2}}')

    @field_validator("pipelines")
    @classmethod
    def _named_as_module_and_attribute(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            module, _, attribute = name.partition(":")
            if not module or not attribute:
                raise ValueError(f'"{name}" names no pipeline: write it as module:attribute')
        return names

    @field_validator("storage_url")
    @classmethod
    def _names_a_store(cls, url: str | None) -> str | None:
        if url and not url.startswith(("file:///", "s3://")):
            raise ValueError("write it as file:///folder or s3://bucket/prefix")
        return url or None

    @field_validator("smtp_url")
    @classmethod
    def _names_a_mail_server(cls, url: SecretStr | None) -> SecretStr | None:
        if url is None or not url.get_secret_value():
            return None
        try:
            parts = urlsplit(url.get_secret_value())
            is_readable = parts.scheme in ("smtp", "smtps") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_readable = False
        if not is_readable:
            raise ValueError("write it as smtp://user:password@host:587 or smtps://user:password@host:465")
        return url

    @field_validator("llm_tasks")
    @classmethod
    def _known_tasks(cls, tasks: tuple[str, ...]) -> tuple[str, ...]:
        for task in tasks:
            if task not in LLM_TASKS:
                raise ValueError(f'"{task}" is nothing a language model is used for: name {" or ".join(LLM_TASKS)}')
        return tasks

    @property
    def artifacts_url(self) -> str:
        """Where artifacts are stored: in the home folder unless another place is named."""
        return self.storage_url or (self.home / "artifacts").as_uri()

    @property
    def own_folders(self) -> tuple[Path, ...]:
        """Where Holdfast keeps its own files: never documents."""
        store = urlsplit(self.artifacts_url)
        return (self.home, Path(unquote(store.path))) if store.scheme == "file" else (self.home,)

    @model_validator(mode="after")
    def _names_what_the_direct_way_leads_to(self) -> "Settings":
        if self.database_direct_url is not None and self.database_url is None:
            raise ValueError("HOLDFAST_DATABASE_DIRECT_URL goes with HOLDFAST_DATABASE_URL: name both or the latter")
        return self

    @model_validator(mode="after")
    def _names_a_model(self) -> "Settings":
        if (self.llm_base_url is None) != (self.llm_model is None):
            raise ValueError("HOLDFAST_LLM_BASE_URL and HOLDFAST_LLM_MODEL belong together: name both or neither")
        return self

    @model_validator(mode="after")
    def _names_all_that_mail_needs(self) -> "Settings":
        if len({bool(self.alert_mail_to), bool(self.alert_mail_from), self.smtp_url is not None}) > 1:
            raise ValueError(
                "HOLDFAST_ALERT_MAIL_TO, HOLDFAST_ALERT_MAIL_FROM and HOLDFAST_SMTP_URL belong together: "
                "name all of them or none"
            )
        return self

    @model_validator(mode="after")
    def _beats_twice_within_a_lease(self) -> "Settings":
        # One late or lost heartbeat must never look like a dead worker.
        if self.heartbeat_seconds * 2 > self.lease_seconds:
            raise ValueError("HOLDFAST_LEASE_SECONDS must be at least twice HOLDFAST_HEARTBEAT_SECONDS")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = TomlConfigSettingsSource(settings_cls, toml_file=_settings_file())
        return init_settings, env_settings, file


def load_settings() -> Settings:
    """Read the settings, or raise InvalidInput that names what is wrong and never shows its value."""
    try:
        return Settings()
    except ValidationError as error:
        raise InvalidInput(_explanation(error)) from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{_settings_file()} is not valid TOML: {error}") from error
    except RecursionError:  # from a parser written in Python: the same in every version
        raise InvalidInput(f"{_settings_file()} is nested too deeply: flatten it") from None


def _settings_file() -> Path:
    chosen = os.environ.get("HOLDFAST_CONFIG")
    if chosen is None:
        return DEFAULT_FILE
    if not Path(chosen).is_file():
        raise InvalidInput(f"HOLDFAST_CONFIG names {chosen}, which is no file: correct it or unset it")
    return Path(chosen)


def _decoded(value: object, *, form: str) -> object:
    """A variable of the environment is JSON, a table of the file is read already."""
    if not isinstance(value, str):
        return value
    try:
        decoded: object = json_codec.loads(value)
    except ValueError:
        raise ValueError(f"write it as {form}") from None
    return decoded


def _explanation(error: ValidationError) -> str:
    return "; ".join(_complaint(detail["loc"], detail["msg"]) for detail in error.errors(include_input=False))


def _complaint(location: tuple[int | str, ...], text: str) -> str:
    text = text.removeprefix("Value error, ")
    if not location:
        return text
    variable = f"HOLDFAST_{str(location[0]).upper()}"
    if str(location[0]) not in Settings.model_fields:
        return f"{location[0]} in {_settings_file()} is not a setting: correct its name or remove it"
    place = ".".join(str(part) for part in location[1:])
    return f"{variable} is invalid{f' at {place}' if place else ''}: {text}"
