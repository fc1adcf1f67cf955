"""Finding passages by their words, on every server."""

import pytest

from holdfast.db.connection import Database
from holdfast.errors import InvalidInput
from holdfast.providers.light import LightEmbedder
from holdfast.search.passages import passages_of
from holdfast.search.search import Search
from holdfast.standard import Place
from tests.search.library import Library

HARBOUR = "The northern harbour was dredged in spring, so that larger ferries can land there."
FERRIES = "Ferries to the islands run every two hours; tickets are sold on board."
INVOICE = "Invoice 4711 for the ferry company is due within thirty days."


async def texts(search: Search, question: str, **options: object) -> list[str]:
    found = await search.find(question, organisation="acme", **options)  # type: ignore[arg-type]
    return [hit.text for hit in found.hits]


async def test_passage_is_found_with_its_place_and_its_words_marked(library: Library, by_words: Search) -> None:
    place = Place(pages=(3,), heading=("Report", "Harbours"))
    document_id = await library.add(
        HARBOUR,
        name="report.pdf",
        location="/library/report.pdf",
        metadata={"title": "Annual report"},
        place=place.to_json(),
    )
    (hit,) = (await by_words.find("When did they dredge the harbours?", organisation="acme")).hits
    assert (hit.document_id, hit.ordinal, hit.place) == (document_id, 0, place)
    assert (hit.title, hit.source_name, hit.source_location) == ("Annual report", "report.pdf", "/library/report.pdf")
    assert [hit.text[start:end] for start, end in hit.highlights] == ["harbour", "dredged"]
    assert set(hit.why.matched_words) == {"dredge", "harbours"}
    assert (hit.why.words_rank, hit.why.vector_rank) == (1, None)


@pytest.mark.parametrize(
    ("metadata", "title"),
    [
        ({"title": "As we call it", "extracted": {"title": "As it says"}}, "As we call it"),
        ({"title": 1984}, "1984"),
        ({"extracted": {"title": "As it says"}}, "As it says"),
        ({"title": " ", "extracted": {"title": "As it says"}}, "As it says"),
        ({"title": None, "extracted": {"title": ""}}, "report.pdf"),
        ({"extracted": "by hand"}, "report.pdf"),
    ],
)
async def test_title_is_as_it_was_set_else_as_the_document_says_else_its_name(
    library: Library, by_words: Search, metadata: dict[str, object], title: str
) -> None:
    document_id = await library.add(HARBOUR, name="report.pdf", metadata=metadata)
    (hit,) = (await by_words.find("harbour", organisation="acme")).hits
    (passage,) = await passages_of(library.database, document_id)
    assert (hit.title, passage.title) == (title, title)


async def test_any_word_may_match_and_more_of_them_rank_higher(library: Library, by_words: Search) -> None:
    await library.add(HARBOUR, FERRIES, INVOICE)
    found = await texts(by_words, "invoice of the ferry company")
    assert found[0] == INVOICE
    assert set(found) == {HARBOUR, FERRIES, INVOICE}


async def test_one_rare_word_outweighs_two_common_ones(library: Library, by_words: Search) -> None:
    common = [f"The quarterly budget of department {n} was approved." for n in range(30)]
    await library.add(*common, "Nobody expected the walrus.")
    assert (await texts(by_words, "quarterly budget walrus"))[0] == "Nobody expected the walrus."


async def test_heading_weighs_more_than_text(library: Library, by_words: Search) -> None:
    await library.add("Pay within thirty days of the refund.", "See the table below.")
    headed = await library.add("See the table above.", heading="Refund")
    found = await by_words.find("refund", organisation="acme")
    assert found.hits[0].document_id == headed


async def test_passage_is_found_by_its_context(library: Library, by_words: Search) -> None:
    await library.add("It rose by three per cent.", context="Turnover of the ferry company in 2025")
    assert await texts(by_words, "turnover") == ["It rose by three per cent."]


async def test_phrase_in_quotes_must_occur(library: Library, by_words: Search) -> None:
    await library.add("The board of the ferry meets on Monday.", "Tickets are sold on the ferry board walk.")
    assert await texts(by_words, '"ferry board" monday') == ["Tickets are sold on the ferry board walk."]


async def test_small_words_of_a_phrase_must_occur_too(library: Library, by_words: Search) -> None:
    tunnel = "A tunnel runs Under  the\n**harbour**, not over it."
    await library.add("The harbour under repair.", "Under a harbour.", "Undo the harbour.", "The harbours.", tunnel)
    assert await texts(by_words, '"under the harbour"') == [tunnel]
    assert await texts(by_words, '"under the harbour" "over the harbour"') == []


async def test_words_of_a_phrase_stand_in_the_form_that_was_asked_for(library: Library, by_words: Search) -> None:
    await library.add("The ferry boards at noon.", "The ferry board meets.")
    assert await texts(by_words, '"ferry board"') == ["The ferry board meets."]


async def test_phrase_of_small_words_alone_must_occur(library: Library, by_words: Search) -> None:
    await library.add("Ferry or not, that is the question.", "To be or not to be a ferry.")
    assert await texts(by_words, 'ferry "to be or not to be"') == ["To be or not to be a ferry."]


async def test_signs_in_a_phrase_mean_nothing_else(library: Library, by_words: Search) -> None:
    await library.add("Berth (A.1) is free.", "Berth A 2 is free.")
    assert await texts(by_words, '"berth (a.1)"') == ["Berth (A.1) is free."]
    assert await texts(by_words, '"berth .*"') == [*await texts(by_words, '"berth"')]


async def test_phrase_may_stand_in_the_context(library: Library, by_words: Search) -> None:
    await library.add("It rose by three per cent.", context="Turnover of the ferry company")
    assert await texts(by_words, '"turnover of the ferry"') == ["It rose by three per cent."]


async def test_excluded_words_and_phrases_do_not_occur(library: Library, by_words: Search) -> None:
    await library.add(HARBOUR, FERRIES, INVOICE)
    assert set(await texts(by_words, "ferry -invoice")) == {FERRIES, HARBOUR}
    assert await texts(by_words, 'ferry -invoice -"northern harbour"') == [FERRIES]


async def test_hyphen_inside_a_word_excludes_nothing(library: Library, by_words: Search) -> None:
    await library.add("A well-known captain retired.")
    assert await texts(by_words, "well-known") == ["A well-known captain retired."]


async def test_words_are_stemmed_in_the_language_of_the_passage(library: Library, by_words: Search) -> None:
    await library.add("Die Häfen wurden im Frühjahr ausgebaggert.", configuration="german")
    await library.add(HARBOUR)
    assert await texts(by_words, "Hafen ausbaggern Frühjahr") == ["Die Häfen wurden im Frühjahr ausgebaggert."]
    assert await texts(by_words, "ferry") == [HARBOUR]


async def test_only_searchable_documents_are_found(library: Library, by_words: Search, database: Database) -> None:
    current = await library.add("walrus current")
    await library.add("walrus in work", searchable=False)
    replaced, removed = await library.add("walrus replaced"), await library.add("walrus removed")
    await database.execute(
        "update holdfast.document set superseded_at = holdfast.clock(), superseded_by = $2 where id = $1",
        replaced,
        current,
    )
    await database.execute("update holdfast.document set deleted_at = holdfast.clock() where id = $1", removed)
    assert await texts(by_words, "walrus") == ["walrus current"]


async def test_other_organisations_passages_are_never_found(library: Library, by_words: Search) -> None:
    await library.add("walrus of ours")
    await library.add("walrus of theirs", organisation="acme two")
    assert await texts(by_words, "walrus") == ["walrus of ours"]


async def test_empty_organisation_is_refused(by_words: Search) -> None:
    with pytest.raises(InvalidInput, match="the organisation is empty"):
        await by_words.find("heron", organisation="")


async def test_organisation_with_most_passages_does_not_find_anothers(
    library: Library, by_words: Search, database: Database
) -> None:
    """Where most passages are its own the index is not asked for them alone."""
    await library.add(*["walrus of ours"] * 30)
    await library.add("walrus of theirs", organisation="other")
    await database.execute("analyze holdfast.chunk")
    assert set(await texts(by_words, "walrus theirs", limit=50)) == {"walrus of ours"}


async def test_name_of_an_organisation_is_no_word_of_its_passages(library: Library, by_words: Search) -> None:
    await library.add("walrus")
    assert await texts(by_words, "organisation acme") == []


@pytest.mark.parametrize(
    "narrowed",
    [
        {"source_platform": "gdrive"},
        {"source_location": "drive:7"},
        {"source_name": "plan.docx"},
        {"metadata": {"team": "sales", "tags": ["new"]}},
    ],
    ids=lambda narrowed: next(iter(narrowed)),
)
async def test_filters_narrow(library: Library, by_words: Search, narrowed: dict[str, object]) -> None:
    await library.add("walrus elsewhere", metadata={"team": "sales"})
    await library.add(
        "walrus here",
        name="plan.docx",
        platform="gdrive",
        location="drive:7",
        metadata={"team": "sales", "tags": ["old", "new"]},
    )
    assert await texts(by_words, "walrus", **narrowed) == ["walrus here"]


async def test_filter_by_document_finds_what_many_others_share(library: Library, by_words: Search) -> None:
    wanted = await library.add("the walrus report")
    for _ in range(20):
        await library.add("the walrus report", "walrus walrus walrus")
    found = await by_words.find("walrus", organisation="acme", document_id=wanted)
    assert [hit.document_id for hit in found.hits] == [wanted]


async def test_limit_is_kept_and_ranks_count_on(library: Library, by_words: Search) -> None:
    await library.add(*[f"walrus number {n}" for n in range(20)])
    found = await by_words.find("walrus", organisation="acme", limit=5)
    assert [hit.why.words_rank for hit in found.hits] == [1, 2, 3, 4, 5]
    assert [hit.score for hit in found.hits] == sorted([hit.score for hit in found.hits], reverse=True)


async def test_without_an_embedder_it_says_that_words_alone_were_used(library: Library, by_words: Search) -> None:
    await library.add(HARBOUR)
    found = await by_words.find("harbour", organisation="acme")
    assert found.mode == "words"
    assert found.notes == ("found by words alone: no embedder is configured",)
    assert not (await by_words.find("harbour", organisation="acme", mode="words")).notes


async def test_before_anything_is_embedded_words_answer_and_say_so(library: Library, database: Database) -> None:
    await library.add(HARBOUR)
    found = await Search(database, LightEmbedder()).find("harbour", organisation="acme")
    assert ([hit.text for hit in found.hits], found.mode) == ([HARBOUR], "words")
    assert "nothing has been embedded yet" in found.notes[0]


async def test_vectors_alone_are_refused_where_there_are_none(by_words: Search) -> None:
    with pytest.raises(InvalidInput, match="no embedder is configured"):
        await by_words.find("harbour", organisation="acme", mode="vectors")


@pytest.mark.parametrize(
    "question", ["", "   ", '""', "-", "?!", "-harbour", '-"northern harbour"', "a\0b", "x" * 4001]
)
async def test_question_without_words_is_refused(by_words: Search, question: str) -> None:
    with pytest.raises(InvalidInput, match="question"):
        await by_words.find(question, organisation="acme")


@pytest.mark.parametrize("limit", [0, -1, 201])
async def test_limit_out_of_range_is_refused(by_words: Search, limit: int) -> None:
    with pytest.raises(InvalidInput, match="1 to 200"):
        await by_words.find("harbour", organisation="acme", limit=limit)


@pytest.mark.parametrize(
    "question", ["the of and", "' \\ \" walrus", "walrus:* & !", "O'Neil <b>", "(walrus", "日本語"]
)
async def test_odd_question_finds_what_it_can(library: Library, by_words: Search, question: str) -> None:
    await library.add("walrus")
    assert await texts(by_words, question) == (["walrus"] if "walrus" in question else [])


async def test_nothing_stored_finds_nothing(by_words: Search) -> None:
    assert await texts(by_words, "walrus") == []


async def test_question_of_common_words_finds_those_with_most_of_them(
    library: Library, by_words: Search, database: Database
) -> None:
    """Counted words are common: then gathering goes by pairs."""
    both = "The annual report is late."
    await library.add(*["annual leave"] * 30, both, *["report a fault"] * 30)
    await database.execute("analyze holdfast.chunk")
    assert (await texts(by_words, "annual report"))[0] == both


async def test_words_are_found_however_their_characters_are_composed(library: Library, by_words: Search) -> None:
    await library.add("Ti\u1ebfng Vi\u1ec7t c\u00f3 d\u1ea5u.", configuration="simple")
    found = await by_words.find("Vie\u0302\u0323t", organisation="acme")
    assert [hit.text[start:end] for hit in found.hits for start, end in hit.highlights] == ["Vi\u1ec7t"]


async def test_hindi_words_are_highlighted_whole(library: Library, by_words: Search) -> None:
    text = "\u092f\u0939 \u0939\u093f\u0928\u094d\u0926\u0940 \u092d\u093e\u0937\u093e \u0939\u0948"
    await library.add(text, configuration="hindi")
    found = await by_words.find(text.split()[1], organisation="acme")
    assert [hit.text[start:end] for hit in found.hits for start, end in hit.highlights] == [text.split()[1]]
