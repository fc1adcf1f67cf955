"""`holdfast doctor` and `migrate`: is the database sound, and is it up to date?"""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.formats import number
from holdfast.cli.options import Json
from holdfast.cli.output import answer, emit
from holdfast.cli.running import WORK_FAILED, actor, finish, reported, run

if TYPE_CHECKING:
    from holdfast.access.supabase import FrontEnd
    from holdfast.app import App
    from holdfast.db.migrations import Applied
    from holdfast.engine.doctor import Finding, Repair
    from holdfast.schema import Checked, Migrated

RepairOption = Annotated[bool, typer.Option("--repair", help="Mend what can be mended without a person's judgement.")]
Deep = Annotated[bool, typer.Option("--deep", help="Read every artifact and compare its content with its hash.")]
Check = Annotated[bool, typer.Option("--check", help="Only say what is missing; exit code 1 if anything is.")]
PrintRoles = Annotated[
    bool, typer.Option("--print-roles", help="Print the SQL by which a superuser prepares roles, schema and pgvector.")
]
Logins = Annotated[
    list[str] | None,
    typer.Option("--login", metavar="NAME", help="With --print-roles: who will migrate; else HOLDFAST_DATABASE_URL's."),
]


class Home(StrEnum):
    """A service whose own roles and conventions a database can be opened to."""

    SUPABASE = "supabase"


For = Annotated[
    Home | None,
    typer.Option("--for", help="Also open the database to the front ends of a project there, for readers only."),
]
Claims = Annotated[
    list[str] | None,
    typer.Option(
        "--claim", help="With --for: where a token names its organization, as o.id or org_id; the first found wins."
    ),
]


def doctor(repair: RepairOption = False, deep: Deep = False, as_json: Json = False) -> None:
    """Prove the invariants on the live database.

    On one snapshot, locking nothing; then asks the store for every artifact that a finished document needs. Exit code
    1 when one does not hold. --repair mends first, in short audited transactions, then proves again. What is doubtful
    in the settings, such as a model without a price, is named too, and what protection against malicious files this
    machine lacks; what keeps searches from being answered by meaning; and who keeps a snapshot that is older than some
    minutes, because that slows the queue down.
    """

    async def prove(app: "App") -> "tuple[list[Repair], list[Finding], list[str], list[str]]":
        repairs = await app.repair(actor()) if repair else []
        doubts = [*app.doubts, *await app.sandbox_gaps()]
        return repairs, await app.examine(deep=deep), doubts, await app.database_doubts()

    repairs, findings, doubts, database_doubts = run(prove, as_json=as_json)

    def render() -> None:
        for mended in repairs:
            print(f"mended {mended.invariant}: {mended.title} ({number(len(mended.ids))})")
        for finding in findings:
            _print_finding(finding)
        if not findings:
            print("every invariant holds")
        for doubt in doubts:
            emit(f"settings: {doubt}")
        for doubt in database_doubts:
            emit(f"database: {doubt}")

    answer(
        {"repairs": repairs, "findings": findings, "doubts": doubts + database_doubts}, as_json=as_json, render=render
    )
    if findings:
        raise typer.Exit(WORK_FAILED)


def migrate(
    check: Check = False,
    print_roles: PrintRoles = False,
    login: Logins = None,
    home: For = None,
    claims: Claims = None,
    as_json: Json = False,
) -> None:
    """Bring the database up to date. Safe to repeat, and to run from many machines at once.

    What the login may not do is named before anything is changed, with the statements that grant it.

    --for supabase also lets the holders of a token read the documents and the progress of the organization that the
    token names, and service_role submit, retry and ask; it prints what is granted then.
    """
    if home and (check or print_roles):
        raise typer.BadParameter("it changes the database: leave out --check and --print-roles", param_hint="--for")
    if claims and not home:
        raise typer.BadParameter("a claim is for front ends: name them with --for supabase", param_hint="--claim")
    if login and not print_roles:
        raise typer.BadParameter("it is for the printed script: add --print-roles", param_hint="--login")
    if check and print_roles:
        raise typer.BadParameter("either look at the database or print the script", param_hint="--check")
    if print_roles:
        _print_roles(login or [])
        return
    if check:
        _check(as_json=as_json)
        return

    async def apply() -> "tuple[Migrated, FrontEnd | None]":
        from holdfast.schema import migrate_database, migrate_for_supabase
        from holdfast.settings import load_settings

        if home:
            return await migrate_for_supabase(load_settings(), tuple(claims or ()), on_wait=_say_wait)
        return await migrate_database(load_settings(), on_wait=_say_wait), None

    done, front_end = finish(apply, as_json=as_json)

    def render() -> None:
        for change in done.applied:
            print(f"applied: {_label(change)}")
        if not done.applied:
            print("the database is up to date")
        for note in done.notes:
            print(f"note: {note}")
        if front_end:
            print(f"claims: {', '.join(front_end.claims)}")
        for grant in front_end.granted if front_end else ():
            print(f"granted: {grant.role}: {grant.rights} on {grant.object}")

    body = {"applied": done.applied, "notes": done.notes}
    answer(body | ({"front_end": front_end} if front_end else {}), as_json=as_json, render=render)


def _say_wait(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _check(*, as_json: bool) -> None:
    async def ask() -> "Checked":
        from holdfast.schema import check_database
        from holdfast.settings import load_settings

        return await check_database(load_settings())

    found = finish(ask, as_json=as_json)

    def render() -> None:
        for change in found.missing:
            print(f"missing: {_label(change)}")
        for lack in found.lacks:
            print(f"missing: the right to {lack.deed}; have an administrator run: {lack.statement}")
        if not found.missing and not found.lacks:
            print("the database is up to date")
        for note in found.notes:
            print(f"note: {note}")

    body = {"missing": found.missing, "rights": found.lacks, "notes": found.notes}
    answer(body, as_json=as_json, render=render)
    if found.missing or found.lacks:
        raise typer.Exit(WORK_FAILED)


def _print_roles(logins: list[str]) -> None:
    from holdfast.db.roles import preparation
    from holdfast.dsn import parse_dsn
    from holdfast.errors import InvalidInput
    from holdfast.settings import load_settings

    with reported():
        url = load_settings().database_url
        named = logins or [user for user in [parse_dsn(url).user if url else None] if user]
        if not named:
            raise InvalidInput("--print-roles needs the login that will migrate: name it with --login")
        print(preparation(named), end="")


def _print_finding(finding: "Finding") -> None:
    from rich.text import Text

    shown = ", ".join(str(one) for one in finding.ids)
    more = finding.count - len(finding.ids)
    mend = "holdfast doctor --repair mends it" if finding.repairable else finding.mend
    emit(
        Text(f"{finding.invariant} is broken: {finding.title} ({number(finding.count)})", style="bold red"),
        f"  {finding.explanation}",
        f"  {finding.subject.replace('_', ' ')}: {shown}" + (f" and {number(more)} more" if more else ""),
        f"  next: {mend}",
    )


def _label(change: "Applied") -> str:
    return change.name if change.number is None else f"{change.number:04}_{change.name}"
