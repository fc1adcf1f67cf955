"""Files that mean harm, or were harmed, each written by code."""

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from itertools import groupby, pairwise, product
from string import ascii_uppercase
from types import MappingProxyType
from typing import TypeAlias

from tests.extract.extracting import DOCX, OPEN_DOCUMENT, PDF, PPTX, XLSX
from tests.extract.samples import (
    SHEETS,
    WORD,
    docx,
    epub,
    open_document,
    pdf,
    pdf_of,
    pdf_stream,
    pptx,
    word_paragraph,
    xlsx,
    zipped,
)

BadFile: TypeAlias = tuple[str, Callable[[], bytes]]

WORDS = "Only these words are visible."
FONT = b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 3 0 R " + FONT + b" >>"
SHOWN = b"BT /F1 12 Tf 72 700 Td (" + WORDS.encode() + b") Tj ET"


def one_page(content: bytes, *, catalog: bytes = b"", more: tuple[bytes, ...] = (), trailer: bytes = b"") -> bytes:
    """A PDF whose page has this content stream."""
    pages = b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>"
    objects = [b"<< /Type /Catalog /Pages 2 0 R %b >>" % catalog, pages, content, PAGE, *more]
    return pdf_of(objects, trailer=trailer)


def flate_bomb() -> bytes:
    squeezed = zlib.compressobj(9)
    row = b"(A) Tj " * 100_000
    once = b"".join(squeezed.compress(row) for _ in range(200)) + squeezed.flush()
    return one_page(pdf_stream(zlib.compress(once, 9), dictionary=b"/Filter [/FlateDecode /FlateDecode]"))


def lzw_bomb() -> bytes:
    squeezed = zlib.compress(bytes(20_000_000), 9)
    return one_page(pdf_stream(squeezed, dictionary=b"/Filter [/FlateDecode /LZWDecode /LZWDecode]"))


def encrypted_pdf() -> bytes:
    standard = b"<< /Filter /Standard /V 1 /R 2 /O (" + b"o" * 32 + b") /U (" + b"u" * 32 + b") /P -4 >>"
    identifier = b"<00112233445566778899aabbccddeeff>"
    trailer = b"/Encrypt 5 0 R /ID [" + identifier + identifier + b"]"
    return one_page(pdf_stream(SHOWN), more=(standard,), trailer=trailer)


def cyclic_pages() -> bytes:
    inner = b"<< /Type /Pages /Kids [2 0 R] /Count 1 /Parent 2 0 R >>"
    return pdf_of([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 2 >>", inner])


def circular_prev() -> bytes:
    whole = one_page(pdf_stream(SHOWN))
    return whole.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev %d" % whole.rfind(b"xref\n0"))


def outline_loop() -> bytes:
    outline = b"<< /Type /Outlines /First 6 0 R /Last 6 0 R /Count 1 >>"
    item = b"<< /Title (again) /Parent 5 0 R /Next 6 0 R /First 6 0 R /Last 6 0 R >>"
    return one_page(pdf_stream(SHOWN), catalog=b"/Outlines 5 0 R", more=(outline, item))


def script() -> bytes:
    act = b"/OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >>"
    return one_page(pdf_stream(SHOWN), catalog=act)


def huge_picture() -> bytes:
    shape = b"/Type /XObject /Subtype /Image /Width 60000 /Height 60000 /ColorSpace /DeviceGray /BitsPerComponent 8"
    picture = pdf_stream(zlib.compress(bytes(1000)), dictionary=shape + b" /Filter /FlateDecode")
    page = PAGE.replace(b"/Resources <<", b"/Resources << /XObject << /I 5 0 R >>")
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>"]
    return pdf_of([*objects, pdf_stream(b"q 612 0 0 792 0 0 cm /I Do Q"), page, picture])


def word(document: str) -> bytes:
    """A Word document with this text as its main part."""
    return docx("", more={"word/document.xml": document})


def word_around(text: str, *, declarations: str) -> bytes:
    body = f"<w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body>"
    return word(f'{declarations}<w:document xmlns:w="{WORD}">{body}</w:document>')


def entity_expansion() -> bytes:
    names = "abcdefghij"
    rows = (f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in pairwise(names))
    return word_around(f"&j; {WORDS}", declarations=f'<!DOCTYPE d [<!ENTITY a "ha">{"".join(rows)}]>')


def external_entity() -> bytes:
    declarations = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    return word_around(f"&x; {WORDS}", declarations=declarations)


def remote_template() -> bytes:
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/attachedTemplate" '
        'Target="http://127.0.0.1:1/evil.dotm" TargetMode="External"/></Relationships>'
    )
    return docx(word_paragraph(WORDS), more={"word/_rels/settings.xml.rels": relations})


def macros() -> bytes:
    return docx(word_paragraph(WORDS), more={"word/vbaProject.bin": b"\xd0\xcf\x11\xe0" + bytes(2000)})


def deep_word() -> bytes:
    depth = 100_000
    inside = word_paragraph(WORDS)
    nested = "<w:sdt><w:sdtContent>" * depth + inside + "</w:sdtContent></w:sdt>" * depth
    return word(f'<w:document xmlns:w="{WORD}"><w:body>{nested}</w:body></w:document>')


def deep_xml() -> bytes:
    depth = 100_000
    return b"<a>" * depth + WORDS.encode() + b"</a>" * depth


def vast_sheet() -> bytes:
    rows = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    sheet = f'<worksheet xmlns="{SHEETS}"><dimension ref="A1:XFD1048576"/><sheetData>{rows}</sheetData></worksheet>'
    whole = xlsx({"Vast": [[1]]})
    return replace_part(whole, "xl/worksheets/sheet1.xml", sheet)


def sheet_of(cells: Mapping[str, str | None]) -> bytes:
    """A workbook with these cells, in the order of their rows; one without a text has only a look."""
    rows = []
    for row, group in groupby(cells.items(), key=lambda cell: int(cell[0].lstrip(ascii_uppercase))):
        rows.append(f'<row r="{row}">{"".join(_cell_of(place, text) for place, text in group)}</row>')
    sheet = f'<worksheet xmlns="{SHEETS}"><sheetData>{"".join(rows)}</sheetData></worksheet>'
    return replace_part(xlsx({"Sparse": [[1]]}), "xl/worksheets/sheet1.xml", sheet)


def _cell_of(place: str, text: str | None) -> str:
    if text is None:
        return f'<c r="{place}" s="0"/>'
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def diagonal_sheet(size: int) -> bytes:
    letters = ["".join(name) for width in (1, 2, 3) for name in product(ascii_uppercase, repeat=width)]
    return sheet_of({f"{letters[n]}{n + 1}": "x" for n in range(size)})


def repeated_cells() -> bytes:
    cell = '<table:table-cell table:number-columns-repeated="16384" office:value-type="string"><text:p>x</text:p>'
    row = f'<table:table-row table:number-rows-repeated="1048576">{cell}</table:table-cell></table:table-row>'
    return open_document("spreadsheet", f'<table:table table:name="Vast">{row}</table:table>')


def zip_bomb() -> bytes:
    return docx(word_paragraph(" " * 50_000_000))


def slide_bomb() -> bytes:
    return pptx([("Bomb", "A" * 50_000_000, None)])


def open_document_bomb() -> bytes:
    return open_document("text", f"<text:p>{'A' * 50_000_000}</text:p>")


def book_bomb() -> bytes:
    return epub([("Bomb", "A" * 50_000_000)], title="Bomb")


def workbook_bomb() -> bytes:
    return xlsx({"Bomb": [[1]]}, more={"xl/sharedStrings.xml": f"<sst>{' ' * 50_000_000}</sst>"})


def understated_bomb() -> bytes:
    """A workbook whose directory says that its sheet is small."""
    whole = bytearray(xlsx({"Bomb": [[" " * 5_000_000]]}))
    with zipfile.ZipFile(io.BytesIO(whole)) as parts:
        size = parts.getinfo("xl/worksheets/sheet1.xml").file_size
    at = whole.rindex(size.to_bytes(4, "little"))
    whole[at : at + 4] = (100).to_bytes(4, "little")
    return bytes(whole)


def countless_texts() -> bytes:
    return xlsx({"Texts": [[1]]}, more={"xl/sharedStrings.xml": f'<sst xmlns="{SHEETS}" uniqueCount="99999999999"/>'})


def entity_in_sheets() -> bytes:
    content = '<!DOCTYPE d [<!ENTITY a "ha">]><office:document-content>&a;</office:document-content>'
    return open_document("spreadsheet", "", more={"content.xml": content})


def unended_table() -> bytes:
    """Its reader would look for the end of the table for ever."""
    content = '<office:document-content><table:table table:name="Unended"><table:table-row></table:table-row>'
    return open_document("spreadsheet", "", more={"content.xml": content})


def part_of(archive: bytes, name: str) -> str:
    """One part of an archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as parts:
        return parts.read(name).decode()


def replace_part(archive: bytes, name: str, content: str) -> bytes:
    """The same archive with one part changed."""
    with zipfile.ZipFile(io.BytesIO(archive)) as parts:
        return zipped({part: parts.read(part) for part in parts.namelist()} | {name: content})


# What cannot be read ends in a permanent category. Never a crash of the worker, never a retry.
REFUSED: Mapping[str, BadFile] = MappingProxyType(
    {
        "zero bytes": (PDF, lambda: b""),
        "header only": (PDF, lambda: b"%PDF-1.7\n"),
        "half a PDF": (PDF, lambda: pdf([[WORDS], [WORDS]])[:500]),
        "page tree with a cycle": (PDF, cyclic_pages),
        "stacked flate bomb": (PDF, flate_bomb),
        "stacked LZW bomb": (PDF, lzw_bomb),
        "encrypted PDF": (PDF, encrypted_pdf),
        "picture of 60,000 by 60,000": (PDF, huge_picture),
        "no zip at all": (DOCX, lambda: b"PK\x03\x04 and then nothing of the kind"),
        "zip cut short": (PPTX, lambda: pptx([("One", WORDS, None)])[:-40]),
        "zip without a document": (XLSX, lambda: zipped({"readme": "nothing here"})),
        "zip bomb": (DOCX, zip_bomb),
        "zip bomb in a presentation": (PPTX, slide_bomb),
        "zip bomb in an OpenDocument": (f"{OPEN_DOCUMENT}.text", open_document_bomb),
        "zip bomb in a book": ("application/epub+zip", book_bomb),
        "zip bomb in a workbook": (XLSX, workbook_bomb),
        "zip bomb in a workbook that says it is small": (XLSX, understated_bomb),
        "a workbook that claims 100 billion texts": (XLSX, countless_texts),
        "entities in a spreadsheet": (f"{OPEN_DOCUMENT}.spreadsheet", entity_in_sheets),
        "a table without an end": (f"{OPEN_DOCUMENT}.spreadsheet", unended_table),
        "XML nested 100,000 deep in Word": (DOCX, deep_word),
        "XML nested 100,000 deep": ("application/xml", deep_xml),
        "a cell repeated 17 billion times": (f"{OPEN_DOCUMENT}.spreadsheet", repeated_cells),
        "old Word that is noise": ("application/msword", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4000)),
        "old Excel that is noise": ("application/vnd.ms-excel", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 500),
        "old PowerPoint that is noise": ("application/vnd.ms-powerpoint", lambda: bytes(range(256)) * 20),
        "picture that is noise": ("image/png", lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20),
    }
)

# What is only odd is read for what it says, and does nothing else.
HARMLESS: Mapping[str, BadFile] = MappingProxyType(
    {
        "truncated cross-reference table": (PDF, lambda: one_page(pdf_stream(SHOWN))[:-120]),
        "circular /Prev": (PDF, circular_prev),
        "outline loop": (PDF, outline_loop),
        "JavaScript": (PDF, script),
        "a PDF that is also a ZIP": (PDF, lambda: one_page(pdf_stream(SHOWN)) + zipped({"a": "b"})),
        "entity expansion": (DOCX, entity_expansion),
        "external entity": (DOCX, external_entity),
        "remote template": (DOCX, remote_template),
        "macros": (DOCX, macros),
    }
)
