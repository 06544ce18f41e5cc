"""The files of invented reports: a small real PDF each, made of its id when it is asked for."""

from __future__ import annotations

from typing import Final

_PAGE: Final = "BT /F1 14 Tf 72 770 Td (SAMPLE DATA) Tj 0 -24 Td (Invented attachment {id}) Tj ET"
_PER_REPORT: Final = 10  # ids of attachments that belong to a report: ten times its own and on


def document(id_: int) -> bytes:
    """Return the file of an attachment, the same for the same id on every machine."""
    page = _PAGE.format(id=id_)
    objects = (
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R"
        "/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(page)}>>\nstream\n{page}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    text = "%PDF-1.4\n"
    starts = []
    for number, content in enumerate(objects, 1):
        starts.append(len(text))
        text += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{start:010} 00000 n \n" for start in starts)
    end = f"trailer\n<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(text)}\n%%EOF\n"
    return f"{text}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode("ascii")


def report_of(id_: int) -> int:
    """Return the id of the report that an attachment belongs to."""
    return id_ // _PER_REPORT


def attachment_id(report: int, place: int) -> int:
    """Return the id of an attachment of a report: its first, second and so on, from 0."""
    return report * _PER_REPORT + place
