"""What the commands share besides options: the engine with its progress bar, and files that are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from enrelm_cli.cli.guard import raise_received_signal
from enrelm_cli.cli.options import CommandLine
from enrelm_cli.files import Output, check_outputs
from enrelm_cli.settings import EngineSettings
from enrelm_cli.show.screen import ProgressBar, Screen, note

if TYPE_CHECKING:
    from enrelm_cli.fold.folds import Engine
    from enrelm_cli.report.explain_report import ExplainReport
    from enrelm_cli.report.reports import CompareReport, CurveReport
    from enrelm_cli.show.page import PageReport


class InterruptibleBar(ProgressBar):
    """A bar that notices a signal which a library has swallowed."""

    def advance(self, rows: int) -> None:
        raise_received_signal()
        super().advance(rows)


def engine_of(where: EngineSettings, screen: Screen) -> Engine:
    progress = InterruptibleBar(screen)
    if where.engine == "dask":
        from enrelm_cli.fold.connection import dask_engine

        return dask_engine(where, progress)
    from enrelm_cli.fold.folds import LocalEngine

    if where.threads:
        from threadpoolctl import threadpool_limits

        threadpool_limits(where.threads, user_api="blas")
    return LocalEngine(where.threads, progress)


def check_drawn(inputs: Sequence[str], plot: str | None, page: str | None) -> None:
    """Figure and page, before an hour of fitting."""
    wanted = (("--plot", plot, "a figure"), ("--report", page, "a page"))
    check_outputs(inputs, [Output(option, path, holds) for option, path, holds in wanted if path is not None])
    if plot is not None:
        from enrelm_cli.show import plots

        plots.check(plot)


def draw(
    report: CurveReport | Sequence[CompareReport] | ExplainReport,
    plot: str | None,
    page: str | None,
    line: CommandLine,
    screen: Screen,
) -> None:
    """Figure and page, where they were asked for."""
    from enrelm_cli.show import render

    if plot is not None:
        render.plot(report, plot)
        note(screen, f"wrote {plot}")
    write_page(report, page, line, screen)


def write_page(report: PageReport, page: str | None, line: CommandLine, screen: Screen) -> None:
    """The page, where it was asked for, with the line that makes it again."""
    if page is None:
        return
    from enrelm_cli.report import words
    from enrelm_cli.show import render

    render.html(report, page, words.shell(line.whole))
    note(screen, f"wrote {page}")
