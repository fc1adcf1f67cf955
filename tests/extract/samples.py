"""Small real documents of every format, written byte by byte, so that a test knows exactly what they hold."""

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from html import escape

Objects = list[bytes]

CONTENT_TYPES = (
    '<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
)
RELATIONSHIPS = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{relationships}</Relationships>'
)
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OVERRIDE = "application/vnd.openxmlformats-officedocument"
ODF = "urn:oasis:names:tc:opendocument:xmlns"
# As much of an Office document with a password as anybody can read.
ENCRYPTED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "EncryptedPackage".encode("utf-16-le") + bytes(2000)


def pdf_of(objects: Sequence[bytes], *, trailer: bytes = b"") -> bytes:
    """A PDF of these objects, numbered from 1, the first being the catalog; with a right cross-reference table."""
    body = io.BytesIO()
    body.write(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(body.tell())
        body.write(b"%d 0 obj\n%b\nendobj\n" % (number, content))
    start = body.tell()
    body.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    body.writelines(b"%010d 00000 n \n" % offset for offset in offsets)
    body.write(b"trailer\n<< /Size %d /Root 1 0 R %b >>\n" % (len(objects) + 1, trailer))
    body.write(b"startxref\n%d\n%%%%EOF\n" % start)
    return body.getvalue()


def pdf_stream(data: bytes, *, dictionary: bytes = b"") -> bytes:
    """The body of a stream object."""
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(data), dictionary, data)


def pdf(pages: Sequence[Sequence[str]], *, title: str | None = None) -> bytes:
    """A PDF with these lines on its pages; a page without lines is blank."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    kids = []
    for lines in pages:
        shown = b" ".join(b"(%b) Tj T*" % _pdf_text(line) for line in lines)
        objects.append(pdf_stream(b"BT /F1 12 Tf 14 TL 72 720 Td %b ET" % shown if lines else b""))
        kids.append(b"%d 0 R" % (len(objects) + 1))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
    objects[1] = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (b" ".join(kids), len(pages))
    if title is None:
        return pdf_of(objects)
    objects.append(b"<< /Title (%b) >>" % _pdf_text(title))
    return pdf_of(objects, trailer=b"/Info %d 0 R" % len(objects))


def pdf_of_images(images: Sequence[bytes], *, width: int, height: int) -> bytes:
    """A PDF whose pages are grey pictures of one byte per pixel, as a scanner makes them."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for image in images:
        shape = b"/Type /XObject /Subtype /Image /Width %d /Height %d" % (width, height)
        objects.append(pdf_stream(image, dictionary=shape + b" /ColorSpace /DeviceGray /BitsPerComponent 8"))
        picture = len(objects)
        objects.append(pdf_stream(b"q 612 0 0 792 0 0 cm /I Do Q"))
        kids.append(b"%d 0 R" % (len(objects) + 1))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /XObject << /I %d 0 R >> >> >>" % (len(objects), picture)
        )
    objects[1] = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (b" ".join(kids), len(images))
    return pdf_of(objects)


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """A zip of these files; the first is stored without compression, as EPUB and OpenDocument want their type."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for position, (name, content) in enumerate(files.items()):
            kind = zipfile.ZIP_DEFLATED if position else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=kind)
    return buffer.getvalue()


def docx(body: str, *, title: str | None = None, more: Mapping[str, str | bytes] | None = None) -> bytes:
    """A Word document with this body of `w:` elements."""
    return zipped(
        {
            "[Content_Types].xml": _types({"/word/document.xml": "wordprocessingml.document.main+xml"}),
            "_rels/.rels": relations(("officeDocument", "word/document.xml"))
            if title is None
            else relations(("officeDocument", "word/document.xml"), ("metadata/core-properties", "docProps/core.xml")),
            "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
            **(_core_properties(title) if title else {}),
            **(more or {}),
        }
    )


def word_paragraph(text: str, *, style: str | None = None) -> str:
    """One paragraph; style Heading1 makes it a heading."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{properties}<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def word_table(rows: Iterable[Sequence[str]]) -> str:
    """A table of plain cells."""
    cells = ("".join(f"<w:tc>{word_paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def pptx(slides: Sequence[tuple[str, str, str | None]], *, more: Mapping[str, str | bytes] | None = None) -> bytes:
    """A presentation: each slide has a title, a text and perhaps speaker notes."""
    files: dict[str, str | bytes] = {}
    overrides = {"/ppt/presentation.xml": "presentationml.presentation.main+xml"}
    for number, (title, text, notes) in enumerate(slides, start=1):
        overrides[f"/ppt/slides/slide{number}.xml"] = "presentationml.slide+xml"
        files[f"ppt/slides/slide{number}.xml"] = _slide("sld", [("title", title), ("body", text)])
        if notes is not None:
            overrides[f"/ppt/notesSlides/notesSlide{number}.xml"] = "presentationml.notesSlide+xml"
            target = f"../notesSlides/notesSlide{number}.xml"
            files[f"ppt/slides/_rels/slide{number}.xml.rels"] = relations(("notesSlide", target))
            files[f"ppt/notesSlides/notesSlide{number}.xml"] = _slide("notes", [("body", notes), ("sldNum", "7")])
    names = [f"slides/slide{number}.xml" for number in range(1, len(slides) + 1)]
    listed = "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in range(1, len(slides) + 1))
    return zipped(
        {
            "[Content_Types].xml": _types(overrides),
            "_rels/.rels": relations(("officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": f'<p:presentation xmlns:p="{SLIDES}" xmlns:r="{OFFICE}">'
            f"<p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations(*(("slide", name) for name in names)),
            **files,
            **(more or {}),
        }
    )


def xlsx(
    sheets: Mapping[str, Sequence[Sequence[str | int]]],
    *,
    title: str | None = None,
    more: Mapping[str, str | bytes] | None = None,
) -> bytes:
    """A workbook with these rows on its sheets, and more parts, or other ones in their place."""
    files = {f"xl/worksheets/sheet{n}.xml": _sheet(rows) for n, rows in enumerate(sheets.values(), start=1)}
    overrides = {"/xl/workbook.xml": "spreadsheetml.sheet.main+xml"}
    overrides |= {f"/{name}": "spreadsheetml.worksheet+xml" for name in files}
    listed = "".join(f'<sheet name="{escape(name)}" sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(sheets, 1))
    return zipped(
        {
            "[Content_Types].xml": _types(overrides),
            "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{SHEETS}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(*(("worksheet", name.removeprefix("xl/")) for name in files)),
            **files,
            **(_core_properties(title) if title else {}),
            **(more or {}),
        }
    )


def epub(chapters: Sequence[tuple[str, str]], *, title: str) -> bytes:
    """A book: each chapter has a heading and a text."""
    names = [f"chapter{number}.xhtml" for number in range(1, len(chapters) + 1)]
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in names)
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f'<container version="1.0" xmlns="{ODF}:container">'
            '<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
            "</container>",
            "book.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">x</dc:identifier>'
            f"<dc:title>{escape(title)}</dc:title><dc:language>en</dc:language></metadata>"
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{
                name: f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{escape(heading)}</title></head>'
                f"<body><h1>{escape(heading)}</h1><p>{escape(text)}</p></body></html>"
                for name, (heading, text) in zip(names, chapters, strict=True)
            },
        }
    )


def open_document(kind: str, body: str, *, more: Mapping[str, str | bytes] | None = None) -> bytes:
    """An OpenDocument file: kind text, spreadsheet or presentation, with this body, and more parts or other ones."""
    spaces = " ".join(f'xmlns:{name}="{ODF}:{name}:1.0"' for name in ("office", "text", "table", "drawing"))
    spaces = spaces.replace("xmlns:drawing", "xmlns:draw")
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    return zipped(
        {
            "mimetype": media_type,
            "content.xml": f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces}>'
            f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{ODF}:manifest:1.0">'
            f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{media_type}"/>'
            '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
            "</manifest:manifest>",
            **(more or {}),
        }
    )


def _pdf_text(text: str) -> bytes:
    encoded = text.encode("cp1252")
    return encoded.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _types(overrides: Mapping[str, str]) -> str:
    rows = (f'<Override PartName="{part}" ContentType="{OVERRIDE}.{kind}"/>' for part, kind in overrides.items())
    return CONTENT_TYPES.format(overrides="".join(rows))


def relations(*targets: tuple[str, str]) -> str:
    """A part of relations: each a kind and its target."""
    rows = (
        f'<Relationship Id="rId{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, start=1)
    )
    return RELATIONSHIPS.format(relationships="".join(rows)).replace(
        f"{OFFICE}/metadata/", "http://schemas.openxmlformats.org/package/2006/relationships/metadata/"
    )


def _core_properties(title: str) -> dict[str, str]:
    return {
        "docProps/core.xml": '<cp:coreProperties xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties">'
        f"<dc:title>{escape(title)}</dc:title></cp:coreProperties>"
    }


def _slide(kind: str, shapes: Sequence[tuple[str, str]]) -> str:
    drawn = "".join(
        f'<p:sp><p:nvSpPr><p:cNvPr id="{n}" name="s{n}"/><p:cNvSpPr/><p:nvPr><p:ph type="{role}"/></p:nvPr></p:nvSpPr>'
        f"<p:spPr/><p:txBody><a:bodyPr/>{_drawn_text(text)}</p:txBody></p:sp>"
        for n, (role, text) in enumerate(shapes, start=2)
    )
    return (
        f'<p:{kind} xmlns:p="{SLIDES}" xmlns:a="{DRAWING}" xmlns:r="{OFFICE}"><p:cSld><p:spTree>'
        '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
        f"{drawn}</p:spTree></p:cSld></p:{kind}>"
    )


def _drawn_text(text: str) -> str:
    return "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in text.split("\n"))


def _sheet(rows: Sequence[Sequence[str | int]]) -> str:
    written = []
    for number, row in enumerate(rows, start=1):
        cells = "".join(_cell(f"{chr(65 + column)}{number}", value) for column, value in enumerate(row))
        written.append(f'<row r="{number}">{cells}</row>')
    return f'<worksheet xmlns="{SHEETS}"><sheetData>{"".join(written)}</sheetData></worksheet>'


def _cell(reference: str, value: str | int) -> str:
    if isinstance(value, int):
        return f'<c r="{reference}"><v>{value}</v></c>'
    return f'<c r="{reference}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
