"""`holdfast takeover` as people meet it."""

import asyncio
import json
import signal

from holdfast.db.connection import Database
from tests.cli.conftest import CommandLine
from tests.takeover.conftest import Installation
from tests.takeover.old_database import TABLE

# Whoever takes rows over waits before the third thousand.
GATE = """
create function public.wait_at_gate() returns trigger language plpgsql as $$
begin
    perform pg_advisory_xact_lock(1);
    return new;
end $$;
create trigger gate before insert on holdfast.taken_row for each row
when (new.key = '2500') execute function public.wait_at_gate();
"""

ROWS = (
    {"id": 1, "status": "failed_parse", "state": "retryable", "file_name": "a.pdf", "tenant_id": "acme"},
    {"id": 2, "status": "chunking", "state": "working", "file_name": "b.pdf", "source_url": "https://old.example/b"},
    {"id": 3, "status": "complete", "state": "done", "file_name": "c.pdf"},
    {"id": 4, "status": "odd", "state": "queued", "file_name": "d.pdf"},
)


async def test_it_says_what_it_would_do_what_it_did_and_how_it_stands(old: Installation, desk: CommandLine) -> None:
    await old.insert(*ROWS)

    def walk() -> None:
        told = desk.succeed("takeover", "--check").out
        assert "failed_parse  retryable" in told
        assert "2 would be taken over, 1 in the old flow, 1 left where they are: 4 in all" in told
        assert 'left: 4, nobody knows the status "odd"' in told
        assert "1 job will find nothing to go on with" in told
        assert "nothing was changed" in told
        assert desk.succeed("jobs", "--json").json["jobs"] == []

        done = desk.succeed("takeover", "--run", "--org", "other").out
        assert "2 taken over, 1 in the old flow, 1 left where they are: 4 in all" in done
        assert done.endswith("old table, backup and jobs agree, and no job has an old status\n")
        standing = desk.succeed("status").out
        assert "takeover   public.documents: 2 here, 1 in the old flow, 1 left\n" in standing
        listed = desk.succeed("jobs").out.splitlines()
        assert [line.split()[2] for line in listed[:4]] == ["FLOW", "new", "old", "new"]
        shown = desk.succeed("show", listed[2].split()[0]).out
        assert "the old installation carries it, and has it as chunking, working" in shown

        undone = desk.succeed("takeover", "--undo").out
        assert undone == "4 rows of public.documents let go; the old table is as it was\n"

    await asyncio.to_thread(walk)


async def test_first_look_at_a_new_database_writes_nothing(database: Database, desk: CommandLine) -> None:
    await database.execute(TABLE)
    await database.execute("insert into public.documents (id, status, state) values (1, 'failed_chunking', 'queued')")
    told = await asyncio.to_thread(desk.succeed, "takeover", "--check", "--json")

    (group,) = told.json["groups"]
    assert (group["becomes_status"], group["becomes_state"]) == ("chunking", "failed")
    for table in ("pipeline", "policy", "takeover", "audit_log"):
        assert await database.fetchval(f"select count(*) from holdfast.{table}") == 0


async def test_counts_that_do_not_agree_are_told_and_end_with_exit_code_1(
    old: Installation, database: Database, desk: CommandLine
) -> None:
    await old.insert(*ROWS)
    await old.run()
    await old.change(2, "odd", "working")
    ended = await asyncio.to_thread(desk.run, "takeover", "--run", "--json")

    assert ended.code == 1
    assert ended.json["verified"] is False
    assert ended.json["differences"][0] == "status chunking: 0 rows in the old table, 1 in the backup"
    acts = await database.fetch("select action, after from holdfast.audit_log order by id")
    assert [act["action"] for act in acts] == ["takeover", "takeover_finished"] * 2
    assert acts[1]["after"]["rows"] == 4


async def test_whoever_stops_it_learns_how_to_go_on(old: Installation, database: Database, desk: CommandLine) -> None:
    await database.execute(
        "insert into public.documents (id, status, state) select n, 'parsed', 'queued' from generate_series(1, 5000) n"
    )
    await database.execute(GATE)
    async with database.transaction() as keeper:
        await keeper.execute("select pg_advisory_xact_lock(1)")
        with desk.started("takeover", "--run", "--json") as process:
            while await database.fetchval("select count(*) from holdfast.taken_row") < 2_000:
                assert process.poll() is None
                await asyncio.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = await asyncio.to_thread(process.communicate)
    await database.execute("drop trigger gate on holdfast.taken_row")
    assert (process.returncode, out) == (130, ""), err
    told = err.splitlines()[-1]  # behind how far it was, which is said every ten seconds
    assert json.loads(told)["error"]["message"] == "stopped: what is done is whole, call it again to go on"
    assert await database.fetchval("select count(*) from holdfast.taken_row") == 2_000
