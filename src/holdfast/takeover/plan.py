"""What an operator asks for: which table, into which pipeline, and who carries what meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.errors import InvalidInput
from holdfast.takeover.converting import Flow
from holdfast.takeover.old_row import FIELDS

USUAL_TABLE = "public.documents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`organisation` is whose the rows are that name none. Without a share the one in force stays, at first all."""

    pipeline: str
    organisation: str
    table: str = USUAL_TABLE
    columns: Mapping[str, str] = field(default_factory=dict)
    share: int | None = None
    chosen: Mapping[str, Flow] = field(default_factory=dict)
    workers_stopped: bool = False

    def __post_init__(self) -> None:
        if self.share is not None and not 0 <= self.share <= 100:
            raise InvalidInput(f"a share of {self.share} % makes no sense: name 0 to 100")
        if not 1 <= len(self.organisation) <= 255:
            raise InvalidInput("an organisation's name has 1 to 255 characters")
        known = ("key", *FIELDS)
        for stranger in self.columns.keys() - set(known):
            raise InvalidInput(f'there is no field "{stranger}": name one of {", ".join(known)}')


def chosen_columns(words: list[str]) -> dict[str, str]:
    """Columns from words like status=phase_status."""
    return dict(_pair(word, "FIELD=COLUMN") for word in words)


def chosen_flows(words: list[str]) -> dict[str, Flow]:
    """Flows from words like 4711=new. A key may itself hold the sign."""
    flows: dict[str, Flow] = {}
    for word in words:
        key, flow = _pair(word, "KEY=old or KEY=new", last=True)
        match flow:
            case "old" | "new":
                flows[key] = flow
            case _:
                raise InvalidInput(f'there is no flow "{flow}": name KEY=old or KEY=new')
    return flows


def _pair(word: str, form: str, *, last: bool = False) -> tuple[str, str]:
    name, sign, value = word.rpartition("=") if last else word.partition("=")
    if not sign or not name:
        raise InvalidInput(f'"{word}" is not of the form {form}')
    return name, value
