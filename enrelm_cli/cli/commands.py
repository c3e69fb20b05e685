"""The commands: each hands its settings to the library and shows what comes back.

Options that only the command line knows (files to write, formats) are settings here; all others stand in settings.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from enrelm_cli.cli.options import CommandLine
from enrelm_cli.cli.outputs import check_drawn, draw, engine_of
from enrelm_cli.cli.program import command
from enrelm_cli.errors import GateError, UsageError
from enrelm_cli.fields import (
    DATA,
    METHOD,
    OUTPUT,
    REQUIRED,
    Bounds,
    Settings,
    Whole,
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
    ReadOptions,
    SplitSettings,
)
from enrelm_cli.show.screen import Screen, log, note, warn
from enrelm_cli.variants import VARIANTS

if TYPE_CHECKING:
    from enrelm_cli.report.reports import CompareReport, CurveReport

_SYNTHETIC = 48


@dataclass(frozen=True)
class ModelFile(Settings):
    path: str = argument("model", "A model that `enrelm fit -o` saved.", "MODEL")


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
    plot: str | None = text(None, "Draw to this .png, .svg or .pdf (extra plot).", OUTPUT, "FILE")
    report: str | None = text(None, "Write one self-contained page to this .html.", OUTPUT, "FILE")


# --------------------------------------------------------------------------------------------------------------- fit


@dataclass(frozen=True)
class FitOptions(Settings):
    variant: str = choice("auto", ("auto", *VARIANTS), f"{', '.join(VARIANTS)}, or auto: the best of them.", METHOD)
    output: str | None = text(None, "Save the model here, e.g. model.joblib.", OUTPUT, "FILE", flags=("--output", "-o"))
    fail_above: float | None = real(
        None, "Save nothing and exit with 5 if the validation error is above this.", OUTPUT, metavar="ERROR"
    )


@command
def fit(
    options: FitOptions,
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    where: EngineSettings,
    shown: Shown,
    screen: Screen,
) -> None:
    """Fit a model: choose the number of neurons on validation rows, refit on all rows, save.

    # the best of all variants, saved
    enrelm fit sample_data/friedman.csv --target y -o model.joblib
    # a table with text, dates and missing cells; few neurons
    enrelm fit sample_data/houses.csv -t price --drop house_id --select smallest
    """
    check_outputs(data.sources, [Output("-o", options.output, "a model")] if options.output is not None else [])
    from enrelm_cli.commands import fit as library
    from enrelm_cli.commands.saved import save
    from enrelm_cli.show import render

    report, model = library.fit(data, split, method, where, options.variant, engine_of(where, screen))
    passed = options.fail_above is None or report.validation_error <= options.fail_above
    if options.output is not None and passed:
        report = save(report, model, options.output)
    if not passed:
        report = replace(report, not_saved="not saved: the validation error is above --fail-above")
    on_stdout = options.output is not None and is_stdout(options.output)
    render.render(report, shown.format, screen.on_stderr() if on_stdout else screen)
    if not passed:
        raise GateError(
            f"not saved: validation error {report.validation_error:.4f} is above --fail-above {options.fail_above:g}",
            "look at `enrelm curve` and `enrelm compare`, or raise the bar",
        )


# ----------------------------------------------------------------------------------------------------------- predict


@dataclass(frozen=True)
class PredictOptions(Settings):
    sources: tuple[str, ...] = argument(
        "data", "CSV, TSV, .csv.gz or Parquet files, quoted globs, or - for stdin.", "DATA...", repeatable=True
    )
    strict: bool = flag(False, "Stop at a category that the model has never seen.", DATA)
    output: str = text("-", "Write here instead of to stdout.", OUTPUT, "FILE", flags=("--output", "-o"))
    ids: tuple[str, ...] = texts(
        "Copy this column to the output first (repeatable).", OUTPUT, "COL", flags=("--id",), completion="columns"
    )
    append: bool = flag(False, "Keep every byte of the input rows and add the prediction.", OUTPUT)
    interval: float | None = real(
        None, "Add lower and upper bounds that cover this share, e.g. 0.9.", OUTPUT, metavar="LEVEL"
    )
    report: str | None = text(None, "Write rows, errors and notes here.", OUTPUT, "FILE.json")


@command
def predict(
    model: ModelFile, options: PredictOptions, read: ReadOptions, where: EngineSettings, screen: Screen
) -> None:
    """Predict with a saved model: CSV with the header `prediction`, rows in their order.

    # predictions on stdout
    enrelm predict model.joblib sample_data/friedman_new.csv
    # every column of the input and then the prediction, into a file
    enrelm predict model.joblib sample_data/friedman_new.csv --append -o out.csv
    """
    outputs = [Output("-o", options.output, "predictions")]
    if options.report is not None:
        outputs.append(Output("--report", options.report, "JSON"))
    check_outputs([model.path, *options.sources], outputs)
    from enrelm_cli.commands import predict as library
    from enrelm_cli.report import words
    from enrelm_cli.show import render

    wanted = library.Wanted(
        options.sources, options.output, options.ids, options.append, options.interval, options.strict, read
    )
    facts = library.predict(model.path, wanted, engine_of(where, screen))
    if options.report is not None:
        render.write_json(facts, options.report)
    for line in facts.notes:
        warn(screen, line)
    if facts.errors is not None:
        render.errors(screen, facts)
    elif not is_stdout(options.output):
        note(screen, f"wrote {options.output}, {words.counted(facts.rows, 'row')}")


# ------------------------------------------------------------------------------------------------------------- curve


@dataclass(frozen=True)
class CurveOptions(Settings):
    variant: str = choice("kernel", (*VARIANTS, "all"), f"{', '.join(VARIANTS)}, or all of them in one figure.", METHOD)
    with_elm: bool = flag(False, "Add the random ELM's band.", METHOD)


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
    # the paper's incremental variant beside random ELMs
    enrelm curve sample_data/network.csv -t y --variant incremental --with-elm
    """
    check_drawn(data.sources, drawn.plot, drawn.report)
    from enrelm_cli.commands import curve as library
    from enrelm_cli.show import render

    variants = VARIANTS if options.variant == "all" else (options.variant,)
    random = elm if options.with_elm else None
    facts = library.curve(data, split, method, where, variants, random, engine_of(where, screen))
    facts = replace(facts, fit_command=_fit_command(facts, line))
    render.render(facts, shown.format, screen)
    draw(facts, drawn.plot, drawn.report, screen)


def _fit_command(report: CurveReport, line: CommandLine) -> str:
    """The fit that uses the curve's best choice, with every option of the curve's line that `fit` knows."""
    from enrelm_cli.report import words
    from enrelm_cli.report.views import best_curve

    winner = best_curve(report.curves)
    kept = line.of_settings((DataSettings, SplitSettings, MethodSettings, EngineSettings), "fit")
    chosen = ["--variant", winner.variant, "--neurons", str(winner.choices.best.neurons), "-o", "model.joblib"]
    return words.shell(["enrelm", "fit", *kept, *chosen])


# ----------------------------------------------------------------------------------------------------------- compare


@dataclass(frozen=True)
class CompareOptions(Settings):
    methods: tuple[str, ...] = texts(
        "Compare this method (repeatable). Default: all there are.",
        METHOD,
        "NAME",
        flags=("--method",),
        completion="methods",
    )
    protocol: str = choice(
        "test",
        ("test", "paper"),
        "test: honest test rows; paper: choose and report on the same rows.",
        METHOD,
        metavar="HOW",
    )
    repeats: int = whole(5, "Number of splits.", METHOD, at_least=1)
    test_size: float = real(0.25, "Share of rows that only judge.", DATA, above=0.0, below=1.0)


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
    screen: Screen,
) -> None:
    """Compare the variants, the random ELM and linear regression on the same splits; each DATA is a table of its own.

    # every method on rows that chose nothing
    enrelm compare sample_data/friedman.csv --target y
    # a table for each file, and their ranks
    enrelm compare sample_data/linear.csv sample_data/network.csv -t y --repeats 2
    """
    check_drawn(data.sources, drawn.plot, drawn.report)
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
        reports.append(replace(facts, threads=getattr(engine, "workers", None)))
    render.render_many(reports, shown.format, screen)
    draw(reports, drawn.plot, drawn.report, screen)


def _one_by_one(data: DataSettings) -> list[DataSettings]:
    """Every DATA as a table of its own. Their headers are read before the first is fitted."""
    from enrelm_cli.table.table import open_table

    if data.sources.count("-") > 1:
        raise UsageError("stdin (-) can be read only once", "name each table once")
    tables = [replace(data, sources=(one,)) for one in data.sources]
    if len(tables) > 1:
        for table in tables:
            if table.sources != ("-",):
                open_table(table.sources, table.read, table.roles)
    return tables


# -------------------------------------------------------------------------------------------- info, export and sample


@command
def info(model: ModelFile, shown: Shown, screen: Screen) -> None:
    """Say what a saved model is: variant, inputs, errors, settings, versions, data.

    # for people
    enrelm info model.joblib
    # for programs
    enrelm info model.joblib --format json
    """
    from enrelm_cli.commands import info as library
    from enrelm_cli.show import render

    render.render(library.info(model.path), shown.format, screen)


@dataclass(frozen=True)
class ExportOptions(Settings):
    output: str = text(REQUIRED, "Write here, e.g. model.onnx.", OUTPUT, "FILE", flags=("--output", "-o"))
    to: str = choice("onnx", ("onnx",), "onnx (extra onnx).", OUTPUT)
    dtype: str = choice("float64", ("float64", "float32"), "Of numbers in and out: float64 or float32.", OUTPUT)
    encoded: bool = flag(False, "Take encoded inputs, for runtimes that have no strings.", OUTPUT)


@command
def export(model: ModelFile, options: ExportOptions, screen: Screen) -> None:
    """Write a saved model as ONNX, to predict where there is no Python: raw columns in, predictions out.

    # an input for each column
    enrelm export model.joblib -o model.onnx  # needs onnx
    # encoded numbers instead, for runtimes that have no strings
    enrelm export model.joblib --encoded -o encoded.onnx  # needs onnx
    """
    check_outputs([model.path], [Output("-o", options.output, "ONNX")])
    from enrelm_cli.commands import export as library
    from enrelm_cli.commands.saved import load_model
    from enrelm_cli.files import write_whole

    exported = library.export(load_model(model.path), options.dtype, options.encoded)
    write_whole(options.output, exported.content)
    if not is_stdout(options.output):
        names = ", ".join(f"{port.name} ({port.type})" for port in exported.inputs)
        note(screen, f"wrote {options.output}: {names} -> {exported.output} ({options.dtype})")


@dataclass(frozen=True)
class SampleOptions(Settings):
    number: int = argument(
        "number",
        f"1 to {_SYNTHETIC}: which of the paper's synthetic datasets.",
        "N",
        kind=Whole(Bounds(at_least=1, at_most=_SYNTHETIC), {}),
    )
    seed: int = whole(1234, "Seed of the draw.", DATA, at_most=2**32 - 1)
    rows: int | None = whole(None, "Draw this many rows instead of the paper's.", DATA, at_least=1)
    output: str = text("-", "Write here instead of to stdout.", OUTPUT, "FILE", flags=("--output", "-o"))


@command
def sample(options: SampleOptions, screen: Screen) -> None:
    """Write one of the paper's 48 synthetic datasets as CSV.

    # a linear function of 20 inputs with noise
    enrelm sample 4 > linear.csv
    # a shallow network, with as many rows as you like
    enrelm sample 10 --rows 100000 -o network.csv
    """
    check_outputs([], [Output("-o", options.output, "a table")])
    from enrelm_cli.commands import synthetic
    from enrelm_cli.files import atomic_writer

    with atomic_writer(options.output) as stream:
        for index, part in enumerate(synthetic.chunks(options.number, options.seed, options.rows)):
            synthetic.write_csv(part, stream, header=index == 0)
