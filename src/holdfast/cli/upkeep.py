"""`holdfast doctor` and `migrate`: is the database sound, and is it up to date?"""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.formats import number
from holdfast.cli.options import Json
from holdfast.cli.output import answer, emit
from holdfast.cli.running import WORK_FAILED, actor, finish, run

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.db.migrations import Applied
    from holdfast.engine.doctor import Finding, Repair

RepairOption = Annotated[bool, typer.Option("--repair", help="Mend what can be mended without a person's judgement.")]
Deep = Annotated[bool, typer.Option("--deep", help="Read every artifact and compare its content with its hash.")]
Check = Annotated[bool, typer.Option("--check", help="Only say what is missing; exit code 1 if anything is.")]


def doctor(repair: RepairOption = False, deep: Deep = False, as_json: Json = False) -> None:
    """Prove the invariants on the live database.

    On one snapshot, locking nothing; then asks the store for every artifact that a finished document needs. Exit code
    1 when one does not hold. --repair mends first, in short audited transactions, then proves again. What is doubtful
    in the settings, such as a model without a price, is named too.
    """

    async def prove(app: "App") -> "tuple[list[Repair], list[Finding], list[str]]":
        repairs = await app.repair(actor()) if repair else []
        return repairs, await app.examine(deep=deep), app.doubts

    repairs, findings, doubts = run(prove, as_json=as_json)

    def render() -> None:
        for mended in repairs:
            print(f"mended {mended.invariant}: {mended.title} ({number(len(mended.ids))})")
        for finding in findings:
            _print_finding(finding)
        if not findings:
            print("every invariant holds")
        for doubt in doubts:
            emit(f"settings: {doubt}")

    answer({"repairs": repairs, "findings": findings, "doubts": doubts}, as_json=as_json, render=render)
    if findings:
        raise typer.Exit(WORK_FAILED)


def migrate(check: Check = False, as_json: Json = False) -> None:
    """Bring the database up to date. Safe to repeat, and to run from many machines at once."""

    async def apply() -> "list[Applied]":
        from holdfast.schema import migrate_database, pending_migrations
        from holdfast.settings import load_settings

        return await (pending_migrations if check else migrate_database)(load_settings())

    changes = finish(apply, as_json=as_json)
    verb = "missing" if check else "applied"

    def render() -> None:
        for change in changes:
            print(f"{verb}: {_label(change)}")
        if not changes:
            print("the database is up to date")

    answer({verb: changes}, as_json=as_json, render=render)
    if check and changes:
        raise typer.Exit(WORK_FAILED)


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
