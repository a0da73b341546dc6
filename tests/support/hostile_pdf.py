"""PDFs that cost a reader far more than they weigh."""

import zlib


def pdf_of(*objects: bytes) -> bytes:
    """A PDF file of one page, which is the first of these objects and has the number 3."""
    objects = (b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>", *objects)
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n" % number + content + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    tail = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(body))
    return body + head + table + tail


def drawing_itself() -> bytes:
    """509 bytes: a form that draws itself three times, and so on for ever."""
    page = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</X 4 0 R>>>>>>",
        b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 4 0 R>>>>/Length 15>>"
        b"stream\n/X Do /X Do /X \nendstream",
    )
    return pdf_of(*page)


def of_content(block: bytes, times: int) -> bytes:
    """One page whose content is `block`, so many times; compressed, so that the file is small."""
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(block) for _ in range(times)) + packer.flush()
    return pdf_of(
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Filter/FlateDecode/Length %d>>stream\n" % len(packed) + packed + b"\nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )


def of_operators(megabytes: int) -> bytes:
    """A page of so many megabytes of drawing."""
    return of_content(b"0 0 m 9 9 l S " * 75_000, megabytes)


def of_text(megabytes: int) -> bytes:
    """A page with so many megabytes of text."""
    line = b"BT /F 9 Tf 1 1 Td (" + b"pump " * 2000 + b") Tj ET\n"
    return of_content(line * 100, megabytes)


def of_nested_forms(depth: int = 12) -> bytes:
    """A page whose forms each draw the next one ten times: slow, and small in memory for long."""
    form = b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>/Length 60>>"
    drawn = b"stream\n" + b"/X Do " * 10 + b"\nendstream"
    forms = [form % (5 + level) + drawn for level in range(depth)]
    last = b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length 9>>stream\n0 0 m n  \nendstream"
    return pdf_of(
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</X 4 0 R>>>>>>",
        *forms,
        last,
    )


def of_tiles(sentence: str) -> bytes:
    """A page that is read at once, and drawn for ever: its ground has two thousand tiles to the point."""
    content = b"BT /F 14 Tf 72 700 Td (%s) Tj ET /Pattern cs /P scn 0 0 612 650 re f" % sentence.encode()
    tile = b"1 0 0 rg 0 0 0.5 0.5 re f"
    return pdf_of(
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R"
        b"/Resources<</Font<</F 5 0 R>>/Pattern<</P 6 0 R>>>>>>",
        b"<</Length %d>>stream\n" % len(content) + content + b"\nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 1 1]/XStep 0.0005/YStep 0.0005"
        b"/Resources<<>>/Length %d>>stream\n" % len(tile) + tile + b"\nendstream",
    )
