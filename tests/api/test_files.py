"""What a document keeps, over HTTP: byte for byte, to be saved and never shown, to its own organisation only."""

import httpx2
import pytest

from tests.api.serving import Served, keep, problem

PAGE = b"<script>alert(document.cookie)</script>"


async def test_original_comes_back_byte_for_byte(api: Served) -> None:
    content = bytes(range(256)) * 9000
    document = (await api.upload(content, name="gate.bin")).json()["document_id"]
    answer = await api.client.get(f"/v1/documents/{document}/original")
    assert (answer.status_code, answer.content) == (200, content)


async def test_original_is_saved_whatever_it_says_it_is(api: Served) -> None:
    document = (await api.upload(PAGE, name="caffè.html")).json()["document_id"]
    answer = await api.client.get(f"/v1/documents/{document}/original")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''caff%C3%A8.html"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_text_is_that_of_the_extraction(api: Served) -> None:
    document = (await api.upload(name="gate.pdf")).json()["document_id"]
    await keep(api, document, "text", "Das Tor öffnet um zwölf.".encode())
    answer = await api.client.get(f"/v1/documents/{document}/text")
    assert answer.text == "Das Tor öffnet um zwölf."
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''gate.pdf.txt"


async def test_what_is_not_made_yet_is_not_found_and_says_why(api: Served) -> None:
    document = (await api.upload()).json()["document_id"]
    answer = await api.client.get(f"/v1/documents/{document}/text")
    assert problem(answer, 404) == "not_found"
    assert "the phase that makes it has not completed" in answer.json()["detail"]


async def test_copy_shows_what_it_is_a_copy_of(api: Served) -> None:
    first, second = [(await api.upload(b"the same", name=name)).json() for name in ("a.txt", "b.txt")]
    assert second["result"] == "duplicate"
    answer = await api.client.get(f"/v1/documents/{second['document_id']}/original")
    assert (first["document_id"] != second["document_id"], answer.content) == (True, b"the same")
    assert answer.headers["content-disposition"].endswith("b.txt")


async def test_removed_document_has_no_files(api: Served) -> None:
    document = (await api.upload()).json()["document_id"]
    await api.client.delete(f"/v1/documents/{document}")
    answer = await api.client.get(f"/v1/documents/{document}/original")
    assert problem(answer, 404) == "not_found"
    assert answer.json()["detail"] == f"there is no document {document}"


async def test_missing_object_is_a_problem_of_ours(api: Served) -> None:
    document = (await api.upload()).json()["document_id"]
    for file in api.stored_files():
        file.unlink()
    assert problem(await api.client.get(f"/v1/documents/{document}/original"), 503) == "storage_unavailable"


async def test_damaged_content_breaks_off_instead_of_ending(api: Served) -> None:
    document = (await api.upload(b"The ferry leaves at noon.")).json()["document_id"]
    for file in api.stored_files():
        file.chmod(0o600)
        file.write_bytes(b"The ferry leaves at five.")
    with pytest.raises(httpx2.RemoteProtocolError):
        await api.client.get(f"/v1/documents/{document}/original")
