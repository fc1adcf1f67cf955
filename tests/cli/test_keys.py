"""`holdfast keys`: a secret is shown once, and what is wrong is said."""

import pytest

from tests.cli.conftest import CommandLine


def _list(holdfast: CommandLine) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = holdfast.succeed("keys", "list", "--json").json
    return rows


def test_a_new_key_is_printed_with_its_number(holdfast: CommandLine) -> None:
    secret, advice = holdfast.succeed("keys", "create", "crm", "--org", "acme").out.splitlines()

    assert secret.startswith("hf_")
    assert advice == "key 1: keep it now, it is not shown again"


def test_a_new_key_is_json_for_programs(holdfast: CommandLine) -> None:
    made = holdfast.succeed("keys", "create", "crm", "--json").json

    assert made["key_id"] == 1
    assert made["secret"].startswith("hf_")


def test_the_list_says_what_a_key_is_good_for(holdfast: CommandLine) -> None:
    holdfast.succeed("keys", "create", "crm", "--org", "acme", "--scope", "read")

    (key,) = _list(holdfast)
    shown = holdfast.succeed("keys", "list").out

    assert (key["name"], key["organisation"], key["scope"], key["revoked_at"]) == ("crm", "acme", "read", None)
    assert all(word in shown for word in ("crm", "acme", "read"))


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_the_list_never_shows_a_secret(holdfast: CommandLine, options: tuple[str, ...]) -> None:
    secret = holdfast.succeed("keys", "create", "crm", "--json").json["secret"]

    shown = holdfast.succeed("keys", "list", *options).out

    assert secret[:11] in shown
    assert secret[:12] not in shown


def test_without_keys_the_list_says_how_to_make_one(holdfast: CommandLine) -> None:
    assert "holdfast keys create NAME" in holdfast.succeed("keys", "list").out


def test_a_revoked_key_stays_in_the_list_with_its_end(holdfast: CommandLine) -> None:
    holdfast.succeed("keys", "create", "crm")

    assert holdfast.succeed("keys", "revoke", "1").out == "key 1 opens nothing any more\n"

    assert _list(holdfast)[0]["revoked_at"] is not None


def test_a_second_revocation_changes_nothing(holdfast: CommandLine) -> None:
    holdfast.succeed("keys", "create", "crm")
    holdfast.succeed("keys", "revoke", "1")
    before = _list(holdfast)

    assert holdfast.succeed("keys", "revoke", "1", "--json").json == {"revoked": 1}

    assert _list(holdfast) == before


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (("create", "crm", "--scope", "everything"), 'there is no scope "everything": name one of read, write, admin'),
        (("create", ""), "a name of 1 to 100 characters"),
        (("create", "crm", "--org", ""), "the organisation is empty"),
        (("revoke", "999"), "there is no key 999"),
        (("revoke", "99999999999999999999"), "out of int64 range"),
    ],
)
def test_a_wrong_call_exits_2_and_makes_nothing(holdfast: CommandLine, call: tuple[str, ...], says: str) -> None:
    result = holdfast.run("keys", *call)

    assert (result.code, result.out) == (2, "")
    assert says in result.err
    assert "Traceback" not in result.err
    assert _list(holdfast) == []
