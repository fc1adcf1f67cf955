"""The command line with nothing configured: a PostgreSQL of its own, made and migrated on the way."""

from tests.cli.conftest import CommandLine
from tests.conftest import OwnServer


def test_a_document_is_carried_to_its_end_without_any_set_up(own_server: OwnServer) -> None:
    holdfast = CommandLine({"HOLDFAST_HOME": str(own_server.home)})

    job_id = holdfast.submit("report")
    holdfast.succeed("worker", "--drain")

    assert holdfast.succeed("show", str(job_id), "--json").json["state"] == "done"


def test_migrating_by_hand_finds_nothing_left_to_do(own_server: OwnServer) -> None:
    holdfast = CommandLine({"HOLDFAST_HOME": str(own_server.home)})
    holdfast.succeed("status")

    assert holdfast.succeed("migrate", "--check").out == "the database is up to date\n"
