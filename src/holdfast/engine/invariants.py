"""What must be true of the records at any moment; each is decided by the query of that name in `checks/`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

_CHECKS = Path(__file__).parent / "checks"

Subject: TypeAlias = Literal["job", "document", "budget_day", "trigger", "artifact"]


@dataclass(frozen=True, slots=True)
class Check:
    """One query that names what breaks an invariant, what that means, and what to do about it."""

    name: str
    title: str
    explanation: str
    mend: str
    subject: Subject = "job"

    @property
    def invariant(self) -> str:
        """The invariant's short name, such as I4."""
        return f"I{int(self.name[1:3])}"

    @property
    def sql(self) -> str:
        """The query; it may read the relation `moment (at)`, the time of the snapshot."""
        return (_CHECKS / f"{self.name}.sql").read_text()


CHECKS: tuple[Check, ...] = (
    Check(
        "i01_document_has_job",
        "a document has no job",
        "It was accepted and will never be worked on.",
        "Submit it again by its document_id.",
        "document",
    ),
    Check(
        "i01_known_place",
        "a job is nowhere",
        "Its state, status or phase is none its pipeline knows, so nobody claims it.",
        "Register the pipeline that knows it, or set the row to a known place.",
    ),
    Check(
        "i01_one_live_job",
        "a document has two live jobs in one pipeline",
        "Both would run, and be paid.",
        "Cancel the jobs named here; each document's first one goes on.",
    ),
    Check(
        "i02_one_completion",
        "a phase completed twice in one run",
        "It was run, and perhaps paid, again after it had finished.",
        "Compare the attempts of these jobs; attempts are never changed.",
    ),
    Check(
        "i02_not_open_again",
        "a job is at a phase that it has completed",
        "The phase would run again, and settling it would be refused.",
        "--repair moves it on to the next phase or to its end.",
    ),
    Check(
        "i03_in_order",
        "a phase was opened before the one before it completed",
        "The phase ran, or will run, without what it builds on.",
        "Retry the job at the phase that was passed over, or reset it.",
    ),
    Check(
        "i03_done_after_last_phase",
        "a job is done with phases open",
        "What it should have produced is missing.",
        "Submit the document again by its document_id.",
    ),
    Check(
        "i04_working_has_worker",
        "state, worker and start disagree",
        "A job that works has a worker and a start, any other has neither; else no sweep can find it.",
        "--repair clears them, or takes the job back as if its worker had died.",
    ),
    Check(
        "i05_one_attempt_per_token",
        "attempts and tokens do not match",
        "Each claim ends as exactly one attempt; here one is missing or there are two.",
        "Attempts are never changed: find out who wrote to the tables.",
    ),
    Check(
        "i06_only_handed_out_tokens",
        "something was recorded under a token nobody was given",
        "An attempt or a spending that no claim stands behind.",
        "Find out who wrote to the tables; the functions refuse this.",
    ),
    Check(
        "i06_no_stray_reservation",
        "a reservation outlived its attempt",
        "The money can be used by nobody.",
        "--repair counts it as spent, because nobody knows whether it was.",
    ),
    Check(
        "i07_attempts_are_guarded",
        "attempts or audit records can be changed",
        "The trigger that refuses it is missing or disabled, so what is recorded proves nothing.",
        "Enable it (alter table … enable trigger …), or create it again as the first migration does.",
        "trigger",
    ),
    Check(
        "i08_final_stays",
        "a finished job was reopened by nobody",
        "No operator's act is on record for it.",
        "Cancel it, or retry it, which puts it on record.",
    ),
    Check(
        "i08_moves_are_guarded",
        "illegal moves are not refused",
        "The trigger that refuses them, and tokens that go back, is missing or disabled.",
        "Enable it (alter table … enable trigger …), or create it again as the first migration does.",
        "trigger",
    ),
    Check(
        "i09_patience",
        "a job was tried more often than its policy allows",
        "It should be in the dead letter.",
        "Cancel it, or look at its policy.",
    ),
    Check(
        "i10_within_limit",
        "a budget's day is passed or negative",
        "More is reserved and spent than the day's limit.",
        "Set the budget again: the day's limit then follows what is spent.",
        "budget_day",
    ),
    Check(
        "i10_equals_ledger",
        "a budget's day is not the sum of its ledger",
        "What the day allows is wrong by the difference.",
        "--repair sets it to the sum.",
        "budget_day",
    ),
    Check(
        "i11_total_cost",
        "a job's cost is not the sum of its attempts'",
        "Reports of cost are wrong by the difference.",
        "--repair sets it to the sum.",
    ),
    Check(
        "i11_job_counters",
        "a job's retries or crashes differ from a recount",
        "It would be tried too often, or given up too early.",
        "--repair sets them to the recount.",
    ),
    Check(
        "i11_document_failures",
        "a document's failures do not add up",
        "Their number is not the sum by category, or its state denies them.",
        "--repair sets the number to the sum.",
        "document",
    ),
    Check(
        "i12_no_automatic_successor",
        "a job went on after a permanent error",
        "No operator asked for it.",
        "Look at its attempts; cancel it if it still runs.",
    ),
    Check(
        "i12_not_before_its_time",
        "a retry came before its time",
        "The policy had decided for a longer wait, and no operator asked for a shorter one.",
        "Find out who moved the job.",
    ),
    Check(
        "i12_permanent_is_not_due",
        "a job that failed for good is due for a retry",
        "It would run and be paid for nothing.",
        "--repair takes the retry away.",
    ),
    Check(
        "i14_one_per_key",
        "an idempotency key was accepted twice",
        "The same submission is worked on, and paid, twice.",
        "Cancel the jobs of the documents named here; each key's first document goes on.",
        "document",
    ),
    Check(
        "i17_child_of_same_organisation",
        "a child belongs to another organisation than its parent",
        "One organisation could see what is another's.",
        "Find out which is right; the functions refuse this.",
        "document",
    ),
    Check(
        "i17_job_of_same_organisation",
        "a job belongs to another organisation than its document",
        "One organisation could see, or pay, what is another's.",
        "Find out which is right; the functions refuse this.",
    ),
    Check(
        "i19_no_dead_worker",
        "a job stays with a dead worker",
        "Its worker has been silent for over 30 s, or is unknown, and no sweep took the job back. If it died while the "
        "database was away, what it had paid for is on its disk: start a worker with its HOLDFAST_HOME first.",
        "Start a worker, or let --repair take the job back.",
    ),
    Check(
        "i20_waits_for_something",
        "a job waits for nothing",
        "No moment and no hold will ever put it back in the queue.",
        "--repair makes it due: now, or when its retry was.",
    ),
    Check(
        "i20_answer_moves_on",
        "a job waits for an answer that came",
        "It would stand still until the answer's deadline.",
        "--repair makes it due now: it goes on with the answer.",
    ),
    Check(
        "i20_is_served",
        "a job is ready in a phase that no living worker runs",
        "For over 5 minutes; the workers that are there run other phases, or lack the settings for this one.",
        "Start a worker for that phase, with the settings it needs: holdfast worker --phase …",
    ),
    Check(
        "i20_ready_is_taken",
        "a job is ready and an idle worker does not take it",
        "For over 30 s, no hold stood in its way and a worker for its phase had nothing else to do.",
        "Look at that worker's log, or restart it.",
    ),
    Check(
        "i26_published_is_whole",
        "a searchable document lacks chunks",
        "Its run made them, and they are gone: it is not found by what they said.",
        "Submit the document again by its id: a new run makes them anew.",
        "document",
    ),
    Check(
        "i26_copies_answer",
        "a copy does not answer with what was made of its content",
        "The document with the same content answers, the copy does not, or with something else.",
        "Publish it: select holdfast.publish_document(id).",
        "document",
    ),
)
