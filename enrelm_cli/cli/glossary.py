"""enrelm glossary: what the numbers of the other commands mean."""

from __future__ import annotations

from dataclasses import dataclass

from enrelm_cli.cli.commands import Shown
from enrelm_cli.cli.program import command
from enrelm_cli.fields import Settings, argument
from enrelm_cli.show.screen import Screen


@dataclass(frozen=True)
class GlossaryOptions(Settings):
    terms: tuple[str, ...] = argument(
        "terms",
        "Labels as they are printed, e.g. alpha or 'vs best'. Default: all.",
        "[TERM]...",
        repeatable=True,
        default=(),
    )


@command
def glossary(options: GlossaryOptions, shown: Shown, screen: Screen) -> None:
    """Explain the numbers that the other commands print.

    # everything
    enrelm glossary
    # some of them
    enrelm glossary alpha share 'vs best'
    """
    from enrelm_cli.report import glossary as library
    from enrelm_cli.show import render

    render.render(library.glossary(options.terms), shown.format, screen)
