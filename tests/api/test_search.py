"""Search over HTTP: passages with where they stand and why they were found."""

from tests.api.serving import Served, problem
from tests.graph.graph import ADD, PUBLISH, chunk, items, thing
from tests.search.library import Library

TEXT = "The ferry to Gull Island leaves Kelp Point at noon."


async def test_passage_comes_with_its_place_and_highlights(api: Served) -> None:
    document = await Library(api.app.database).add(
        TEXT,
        "The tidal gate is closed at night.",
        organisation="default",
        name="timetable.pdf",
        location="shelf/3",
        metadata={"ward": "7"},
        place={"pages": [3, 4], "heading": ["Departures"], "spans": [[0, 25, "page", 3], [25, 60, "page", 4]]},
    )
    answer = (await api.client.get("/v1/search", params={"q": "ferry", "mode": "words"})).json()
    (hit,) = answer["hits"]
    assert (hit["document_id"], hit["ordinal"], hit["text"]) == (document, 0, TEXT)
    assert (hit["source_name"], hit["source_location"], hit["metadata"]) == ("timetable.pdf", "shelf/3", {"ward": "7"})
    assert hit["place"] == {"pages": [3], "heading": ["Departures"]}
    assert hit["passage_place"] == {"pages": [3, 4], "heading": ["Departures"]}
    assert hit["excerpt"] == [0, len(TEXT)]
    assert [hit["text"][start:end] for start, end in hit["highlights"]] == ["ferry"]
    assert hit["why"]["words_rank"] == 1
    assert (answer["mode"], answer["entities"]) == ("words", None)


async def test_search_is_narrowed(api: Served) -> None:
    library = Library(api.app.database)
    ours = await library.add(TEXT, organisation="acme", name="a.pdf", platform="wiki", location="a")
    await library.add(TEXT + " Daily.", organisation="acme", name="b.pdf", location="b")
    await library.add(TEXT + " Not on Sundays.", organisation="other")
    for query in ({"platform": "wiki"}, {"name": "a.pdf"}, {"location": "a"}, {"document_id": ours}):
        asked = {"q": "ferry", "mode": "words", "organisation": "acme", **query}
        answer = (await api.client.get("/v1/search", params=asked)).json()
        assert [hit["document_id"] for hit in answer["hits"]] == [ours], query
    both = (await api.client.get("/v1/search", params={"q": "ferry", "organisation": "acme", "limit": 1})).json()
    assert len(both["hits"]) == 1


async def test_search_by_words_and_meaning_says_what_it_lacks(api: Served) -> None:
    await Library(api.app.database).add(TEXT, organisation="default")
    answer = (await api.client.get("/v1/search", params={"q": "ferry"})).json()
    assert len(answer["hits"]) == 1
    assert answer["notes"]


async def test_graph_tells_what_passages_speak_of(api: Served) -> None:
    database = api.app.database
    await api.upload(b"anything", organisation="acme")
    worker = await api.worker()
    attempt = await worker.claim_one("store")
    document = attempt.document.id
    await Library(database).put(document, 0, TEXT)
    said = chunk(0, thing("Kelp Point", "place"), thing("Gull Island", "place"))
    await database.execute(ADD, attempt.job_id, attempt.token, items(said))
    await database.execute(PUBLISH, document)
    asked = {"q": "ferry", "organisation": "acme", "mode": "words", "graph": "true"}
    answer = (await api.client.get("/v1/search", params=asked)).json()
    assert sorted((one["name"], one["kind"], one["neighbours"]) for one in answer["entities"]) == [
        ("Gull Island", "place", ["Kelp Point"]),
        ("Kelp Point", "place", ["Gull Island"]),
    ]


async def test_another_organisation_is_not_there_for_a_key(guarded: Served) -> None:
    headers = await guarded.key("acme")
    asked = {"q": "ferry", "organisation": "other"}
    assert problem(await guarded.client.get("/v1/search", params=asked, headers=headers), 404) == "not_found"
