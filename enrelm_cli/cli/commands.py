"""The commands: each hands its settings to the library and shows what comes back.

Options that only the command line knows (files to write, formats) are settings here; all others stand in settings.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from enrelm_cli.cli.options import CommandLine
from enrelm_cli.cli.outputs import check_drawn, draw, engine_of, write_page
from enrelm_cli.cli.program import command
from enrelm_cli.errors import GateError, UsageError
from enrelm_cli.fields import (
    DATA,
    METHOD,
    OUTPUT,
    REQUIRED,
    Settings,
    argument,
    choice,
    flag,
    real,
    text,
    texts,
    whole,
)
from enrelm_cli.files import Output, check_outputs, is_stdout
from enrelm_cli.settings import (
    DataSettings,
    ElmSettings,
    EngineSettings,
    MethodSettings,
    SplitSettings,
)
from enrelm_cli.show.screen import Screen, log, note
from enrelm_cli.variants import VARIANTS

if TYPE_CHECKING:
    from enrelm_cli.report.reports import CompareReport


@dataclass(frozen=True)
class ModelFile(Settings):
    path: str = argument("model", "A model saved by `enrelm fit -o`.", "MODEL")


@dataclass(frozen=True)
class Shown(Settings):
    format: str = choice(
        "table",
        ("table", "json", "csv", "markdown"),
        "table, json, csv or markdown.",
        OUTPUT,
        metavar="FORMAT",
        flags=("--format", "-f"),
    )


@dataclass(frozen=True)
class Drawn(Settings):
    plot: str | None = text(None, "Draw a figure: .png, .svg or .pdf (extra plot).", OUTPUT, "FILE")
    report: str | None = text(None, "Write a self-contained HTML page.", OUTPUT, "FILE")


# --------------------------------------------------------------------------------------------------------------- fit


@dataclass(frozen=True)
class FitOptions(Settings):
    variant: str = choice("auto", ("auto", *VARIANTS), f"{', '.join(VARIANTS)}, or auto: the best of them.", METHOD)
    output: str | None = text(None, "Save the model here, e.g. model.joblib.", OUTPUT, "FILE", flags=("--output", "-o"))
    fail_above: float | None = real(
        None,
        "Exit with code 5 and save nothing if the validation error (in --metric, over all folds) is above this.",
        OUTPUT,
        metavar="ERROR",
    )
    report: str | None = text(
        None, "Write a self-contained HTML page: what was fitted, and what it learnt.", OUTPUT, "FILE"
    )
    updatable: bool = flag(
        False, "Keep sums of the rows in the model, for `enrelm update`; local and logistic keep every row.", METHOD
    )
    like: str | None = text(
        None,
        "Reuse the settings, kernel, landmarks and encoding of this updatable model, without a search.",
        METHOD,
        "MODEL",
    )


@command
def fit(
    options: FitOptions,
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    where: EngineSettings,
    shown: Shown,
    line: CommandLine,
    screen: Screen,
) -> None:
    """Fit a model: choose the number of neurons on validation rows, refit on all rows, save.

    # the best of all variants, saved
    enrelm fit sample_data/friedman.csv --target y -o model.joblib
    # a table with text, dates and missing cells; few neurons
    enrelm fit sample_data/houses.csv -t price --drop house_id --select smallest
    """
    wanted = (("-o", options.output, "a model"), ("--report", options.report, "a page"))
    check_outputs([*data.sources, *data.held], [Output(flag, path, holds) for flag, path, holds in wanted if path])
    from enrelm_cli.commands import fit as library
    from enrelm_cli.commands.saved import save
    from enrelm_cli.show import render

    if options.fail_above is not None and method.metric == "r2":
        raise UsageError("--fail-above bounds an error, and a large R² is a good one", "gate on --metric rmse or mae")
    if options.like is not None:
        fit_like(options.like, data, options.output, options.fail_above, where, shown, screen)
        return
    engine = engine_of(where, screen)
    report, model = library.fit(data, split, method, where, options.variant, engine, options.updatable)
    error = report.gated(method.metric)
    passed = options.fail_above is None or error <= options.fail_above
    if options.output is not None and passed:
        report = save(report, model, options.output)
    if not passed:
        report = replace(report, not_saved="not saved: the validation error is above --fail-above")
    on_stdout = options.output is not None and is_stdout(options.output)
    render.render(report, shown.format, screen.on_stderr() if on_stdout else screen)
    if options.report is not None:
        from enrelm_cli.commands.explanation.pages import fit_page

        write_page(fit_page(report, model), options.report, line, screen)
    if not passed:
        raise GateError(
            f"not saved: {report.gate_name(method.metric)} {error:.4f} is above --fail-above {options.fail_above:g}",
            "see `enrelm curve` and `enrelm compare`, or raise the limit",
        )


def fit_like(
    parent: str,
    data: DataSettings,
    output: str | None,
    fail_above: float | None,
    where: EngineSettings,
    shown: Shown,
    screen: Screen,
) -> None:
    from enrelm_cli.commands.updating.update import like
    from enrelm_cli.model import artifact
    from enrelm_cli.show import render

    report, model = like(parent, data.sources, data.roles, data.read, engine_of(where, screen))
    if fail_above is not None and not report.gated <= fail_above:
        problem = f"not saved: validation error {report.gated:.4f} is above --fail-above {fail_above:g}"
        raise GateError(problem, "fit the table again, or raise the limit")
    if output is not None:
        artifact.save(model.to_document(), output)
        report = replace(report, model=output)
    on_stdout = output is not None and is_stdout(output)
    render.render(report, shown.format, screen.on_stderr() if on_stdout else screen)


# ------------------------------------------------------------------------------------------------------------- curve


@dataclass(frozen=True)
class CurveOptions(Settings):
    variant: str = choice("kernel", (*VARIANTS, "all"), f"{', '.join(VARIANTS)}, or all (in one figure).", METHOD)
    with_elm: bool = flag(False, "Add the error band of random ELMs.", METHOD)


@command
def curve(
    options: CurveOptions,
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    elm: ElmSettings,
    where: EngineSettings,
    shown: Shown,
    drawn: Drawn,
    line: CommandLine,
    screen: Screen,
) -> None:
    """Show the error of every network size, and three choices of the number of neurons.

    # the kernel variant, tuned
    enrelm curve sample_data/friedman.csv --target y
    # the paper's incremental variant, with random ELMs for comparison
    enrelm curve sample_data/network.csv -t y --variant incremental --with-elm
    """
    check_drawn([*data.sources, *data.held], drawn.plot, drawn.report)
    from enrelm_cli.commands import curve as library
    from enrelm_cli.report.curve_view import size_options
    from enrelm_cli.report.targets.reports import TargetsCurve
    from enrelm_cli.show import render

    variants = VARIANTS if options.variant == "all" else (options.variant,)
    random = elm if options.with_elm else None
    alone = None if drawn.plot is None and drawn.report is None else "--plot and --report draw the curves of one"
    facts = library.curve(data, split, method, where, variants, random, engine_of(where, screen), alone)
    if isinstance(facts, TargetsCurve):
        following = _fit_command(data.sources, line, "--variant", facts.chosen)
        render.render(replace(facts, fit_command=following), shown.format, screen)
        return
    winner = facts.winner
    chosen = ("--variant", winner.variant, *size_options(winner))
    facts = replace(facts, fit_command=_fit_command(data.sources, line, *chosen))
    render.render(facts, shown.format, screen)
    draw(facts, drawn.plot, drawn.report, line, screen)


def _fit_command(sources: Sequence[str], line: CommandLine, *chosen: str) -> str:
    """The fit that follows, with every option of the line that `fit` knows too."""
    from enrelm_cli.report import words

    kept = line.of_settings((DataSettings, SplitSettings, MethodSettings, EngineSettings), "fit")
    return words.shell(["enrelm", "fit", *sources, *kept, *chosen, "-o", "model.joblib"])


# ----------------------------------------------------------------------------------------------------------- compare


@dataclass(frozen=True)
class CompareOptions(Settings):
    methods: tuple[str, ...] = texts(
        "Compare this method (repeatable). Default: all available.",
        METHOD,
        "NAME",
        flags=("--method",),
        completion="methods",
    )
    protocol: str = choice(
        "test",
        ("test", "paper"),
        "test: report on separate test rows; paper: choose and report on the same rows.",
        METHOD,
        metavar="HOW",
    )
    repeats: int = whole(5, "Number of splits; with --time, of cuts.", METHOD, at_least=1)
    test_size: float = real(0.25, "Fraction of rows used only for testing.", DATA, above=0.0, below=1.0)


@command
def compare(
    options: CompareOptions,
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    elm: ElmSettings,
    where: EngineSettings,
    shown: Shown,
    drawn: Drawn,
    line: CommandLine,
    screen: Screen,
) -> None:
    """Compare the variants, the random ELM and linear regression on the same splits; each DATA is a table of its own.

    # every method, on separate test rows
    enrelm compare sample_data/friedman.csv --target y
    # one table per file, and the ranks over them
    enrelm compare sample_data/linear.csv sample_data/network.csv -t y --repeats 2
    """
    check_drawn([*data.sources, *data.held], drawn.plot, drawn.report)
    from enrelm_cli.commands import compare as library
    from enrelm_cli.show import render

    methods = options.methods or tuple(library.default_methods())
    plan = library.ComparePlan(methods, options.protocol, options.repeats, options.test_size)
    tables = _one_by_one(data)
    engine = engine_of(where, screen)
    reports: list[CompareReport] = []
    for number, table in enumerate(tables, 1):
        if len(tables) > 1:
            log(screen, f"table {number} of {len(tables)}: {table.sources[0]}")
        facts = library.compare(table, split, method, where, elm, plan, engine)
        own = facts.own(VARIANTS)
        following = _fit_command(table.sources, line, *(() if own is None else ("--variant", own)))
        threads = getattr(engine, "workers", None)
        reports.append(replace(facts, ours=own, fit_command=following, threads=threads))
    render.render_many(reports, shown.format, screen)
    draw(reports, drawn.plot, drawn.report, line, screen)


def _one_by_one(data: DataSettings) -> list[DataSettings]:
    """Every DATA, and every target of it, as a table of its own. Headers are read before the first is fitted."""
    if data.sources.count("-") > 1:
        raise UsageError("stdin (-) can be read only once", "name each table once")
    tables = [replace(data, sources=(one,)) for one in data.sources]
    if data.sources != ("-",):
        tables = [one for table in tables for one in _target_by_target(table)]
    if len(tables) > 1 and data.test:
        raise UsageError("--test belongs to one table, and each DATA is a separate table", "compare them one by one")
    return tables


def _target_by_target(data: DataSettings) -> list[DataSettings]:
    """Every target as a table of its own, without the others."""
    from enrelm_cli.table.table import open_table

    if data.sources == ("-",) or data.roles.target is None:
        return [data]
    roles = open_table(data.sources, data.read, data.roles).roles
    if not roles.also:
        return [data]
    apart = [(name, tuple(other for other in roles.targets if other != name)) for name in roles.targets]
    of = [replace(roles, target=name, also=(), drop=(*roles.drop, *others)) for name, others in apart]
    return [replace(data, roles=one) for one in of]


# --------------------------------------------------------------------------------------------------- info and export


@dataclass(frozen=True)
class InfoOptions(Settings):
    command: bool = flag(False, "Print the command that made the model, and the hashes to check it.", OUTPUT)
    report: str | None = text(None, "Write a self-contained HTML page.", OUTPUT, "FILE")


@command
def info(model: ModelFile, options: InfoOptions, shown: Shown, line: CommandLine, screen: Screen) -> None:
    """Describe a saved model: variant, inputs, errors, settings, versions, data.

    # for people
    enrelm info model.joblib
    # for programs
    enrelm info model.joblib --format json
    """
    if options.command and options.report is not None:
        raise UsageError("--command prints the command alone, and --report writes a page", "leave out one of them")
    if options.command and shown.format not in ("table", "json"):
        problem = f"--command prints the command as text or JSON, not as --format {shown.format}"
        raise UsageError(problem, "type --format json, or leave it out")
    check_drawn([model.path], None, options.report)
    from enrelm_cli.commands import info as library
    from enrelm_cli.commands import recipe
    from enrelm_cli.show import render

    if options.command:
        render.origin(recipe.origin(model.path), model.path, shown.format, screen)
        return
    if options.report is not None:
        from enrelm_cli.commands.explanation.pages import info_page

        page = info_page(model.path)
    report = library.info(model.path)
    render.render(report, shown.format, screen)
    if options.report is not None:
        write_page(page, options.report, line, screen)


@dataclass(frozen=True)
class ExportOptions(Settings):
    output: str = text(REQUIRED, "Output file, e.g. model.onnx.", OUTPUT, "FILE", flags=("--output", "-o"))
    to: str = choice("onnx", ("onnx",), "onnx (extra onnx).", OUTPUT)
    dtype: str = choice("float64", ("float64", "float32"), "Type of inputs and outputs: float64 or float32.", OUTPUT)
    encoded: bool = flag(False, "Take encoded inputs, for runtimes without strings.", OUTPUT)


@command
def export(model: ModelFile, options: ExportOptions, screen: Screen) -> None:
    """Export a saved model to ONNX, to predict without Python: raw columns in, predictions out.

    # one input per column
    enrelm export model.joblib -o model.onnx  # needs onnx
    # encoded numbers instead, for runtimes without strings
    enrelm export model.joblib --encoded -o encoded.onnx  # needs onnx
    """
    check_outputs([model.path], [Output("-o", options.output, "ONNX")])
    from enrelm_cli.commands import export as library
    from enrelm_cli.commands.saved import load_models
    from enrelm_cli.files import write_whole

    exported = library.export(load_models(model.path), options.dtype, options.encoded)
    write_whole(options.output, exported.content)
    if not is_stdout(options.output):
        names, given = (
            ", ".join(f"{port.name} ({port.type})" for port in ports) for ports in (exported.inputs, exported.outputs)
        )
        note(screen, f"wrote {options.output}: {names} -> {given}")
