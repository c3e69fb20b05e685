"""enrelm check, beside the commands that fit (commands.py)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from enrelm_cli.cli.commands import Shown
from enrelm_cli.cli.options import CommandLine
from enrelm_cli.cli.outputs import check_drawn, engine_of, write_page
from enrelm_cli.cli.program import command
from enrelm_cli.errors import DataError, GateError
from enrelm_cli.fields import OUTPUT, Settings, flag, text
from enrelm_cli.settings import DataSettings, EngineSettings
from enrelm_cli.show.screen import Screen


@dataclass(frozen=True)
class CheckOptions(Settings):
    strict: bool = flag(False, "Exit with code 5 if there are warnings.", OUTPUT)
    report: str | None = text(None, "Write a self-contained HTML page.", OUTPUT, "FILE")


@command
def check(
    options: CheckOptions,
    data: DataSettings,
    where: EngineSettings,
    shown: Shown,
    line: CommandLine,
    screen: Screen,
) -> None:
    """Check a table without fitting: kinds, inputs, and every problem at once with the option that fixes it.

    # what a fit would make of each column
    enrelm check sample_data/houses.csv --target price
    # for batch jobs: exit code 5 if there are warnings
    enrelm check sample_data/friedman.csv -t y --strict --report check.html
    """
    check_drawn(data.sources, None, options.report)
    from enrelm_cli.commands import check as library
    from enrelm_cli.report import words
    from enrelm_cli.show import render

    report = library.check(data, where, engine_of(where, screen))
    if report.fits:
        typed = line.of_settings((DataSettings, EngineSettings), "fit")
        target = () if report.target is not None or not report.columns else ("--target", report.columns[-1].name)
        model = ("-o", "model.joblib")
        report = replace(report, next_command=words.shell(["enrelm", "fit", *data.sources, *typed, *target, *model]))
    render.render(report, shown.format, screen)
    write_page(report, options.report, line, screen)
    errors, warnings = (len(report.of_level(level)) for level in ("error", "warning"))
    if errors:
        raise DataError(f"{report.name} cannot be fitted: {words.counted(errors, 'error')}")
    if warnings and options.strict:
        raise GateError(f"{words.counted(warnings, 'warning')} (--strict)", "solve them, or leave out --strict")
