"""enrelm explain, beside the commands that fit (commands.py)."""

from __future__ import annotations

from dataclasses import dataclass

from enrelm_cli.cli.commands import Drawn, ModelFile, Shown
from enrelm_cli.cli.options import CommandLine
from enrelm_cli.cli.outputs import check_drawn, draw, engine_of
from enrelm_cli.cli.program import command
from enrelm_cli.fields import METHOD, OUTPUT, Settings, argument, flag, text, texts, whole
from enrelm_cli.settings import EngineSettings, ReadOptions
from enrelm_cli.show.screen import Screen, warn


@dataclass(frozen=True)
class ExplainOptions(Settings):
    sources: tuple[str, ...] = argument(
        "data",
        "Rows to explain the model on: its own table, or another with the same columns.",
        "DATA...",
        repeatable=True,
    )
    columns: tuple[str, ...] = texts(
        "Explain this column (repeatable). Default: those that matter.",
        METHOD,
        "COL",
        flags=("--column",),
        completion="columns",
    )
    target: str | None = text(None, "The target to explain, if the model has several.", METHOD, "COL")
    top: int = whole(12, "Maximum number of columns.", METHOD, at_least=1)
    partial_dependence: bool = flag(False, "Partial dependence instead of accumulated local effects.", METHOD)
    classes: tuple[str, ...] = texts(
        "Explain this class (repeatable). Default: the second of two classes, or the 6 most frequent.",
        METHOD,
        "NAME",
        flags=("--of-class",),
    )
    worst: int = whole(10, "How many of the worst rows to show.", OUTPUT)


@command
def explain(
    model: ModelFile,
    options: ExplainOptions,
    read: ReadOptions,
    where: EngineSettings,
    shown: Shown,
    drawn: Drawn,
    line: CommandLine,
    screen: Screen,
) -> None:
    """Explain a saved model on a table: effects of columns, pairs that act together, residuals, worst rows, intervals.

    # on the terminal: the columns that matter
    enrelm explain model.joblib sample_data/friedman.csv
    # everything, as a page
    enrelm explain model.joblib sample_data/friedman.csv --report explain.html
    """
    check_drawn([model.path, *options.sources], drawn.plot, drawn.report)
    from enrelm_cli.commands.explanation import explain as library
    from enrelm_cli.show import render

    looked = (options.columns, options.top, options.partial_dependence, options.worst, options.classes)
    wanted = library.ExplainSettings(*looked)
    report = library.explain(model.path, options.sources, wanted, read, engine_of(where, screen), options.target)
    for remark in report.notes:
        warn(screen, remark)
    render.render(report, shown.format, screen)
    draw(report, drawn.plot, drawn.report, line, screen)
