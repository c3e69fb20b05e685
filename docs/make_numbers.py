"""Writes the glossary of docs/numbers.md from report/glossary.py: `python docs/make_numbers.py`."""

from __future__ import annotations

from pathlib import Path

from enrelm_cli.report.glossary import CHAPTERS

PAGE = Path(__file__).parent / "numbers.md"
_BEGIN, _END = "<!-- made by docs/make_numbers.py: begin -->", "<!-- made by docs/make_numbers.py: end -->"


def page(text: str) -> str:
    """The page with its glossary made anew."""
    before, rest = text.split(_BEGIN)
    _, after = rest.split(_END)
    parts = []
    for chapter in CHAPTERS:
        rows = "\n".join(f"| {term.name} | {term.meaning} |" for term in chapter.terms)
        parts.append(f"### {chapter.title}\n\n| label | what it says |\n| --- | --- |\n{rows}")
    return f"{before}{_BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
