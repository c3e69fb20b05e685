"""The command line: options -> settings -> library -> render. The only file that knows Typer.

`enrelm --help` must stay quick, so numpy, scipy, pyarrow and rich are imported inside the commands that need them.
"""

from __future__ import annotations

import functools
import inspect
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from enrelm_cli import __version__
from enrelm_cli.errors import Exit, GateError, UsageError, UserError
from enrelm_cli.settings import (
    ALL_ROWS,
    VARIANTS,
    ElmSettings,
    EngineSettings,
    KernelSettings,
    MethodSettings,
    SplitSettings,
)

if TYPE_CHECKING:
    from enrelm_cli.dataset import DataSettings
    from enrelm_cli.folds import Engine
    from enrelm_cli.render import Screen
    from enrelm_cli.table import ReadOptions

EXIT_CODES = (
    "Exit codes: 0 ok, 1 a bug in enrelm, 2 usage, 3 data, 4 model file, 5 --fail-above was exceeded, 130 interrupted, "
    "143 terminated."
)

app = typer.Typer(
    name="enrelm",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Non-linear regression from the shell: one deterministic fit gives networks of every size.",
    epilog=EXIT_CODES,
)


class Format(str, Enum):
    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


class Variant(str, Enum):
    auto = "auto"
    approximate = "approximate"
    incremental = "incremental"
    kernel = "kernel"


class CurveVariant(str, Enum):
    approximate = "approximate"
    incremental = "incremental"
    kernel = "kernel"
    all = "all"


class Select(str, Enum):
    best = "best"
    knee = "knee"
    smallest = "smallest"


class SplitKind(str, Enum):
    hash = "hash"
    shuffle = "shuffle"


class Missing(str, Enum):
    fill = "fill"
    drop = "drop"
    error = "error"


class EngineName(str, Enum):
    local = "local"
    dask = "dask"


class Activation(str, Enum):
    erf = "erf"
    tanh = "tanh"
    arctan = "arctan"


class Backend(str, Enum):
    closed_form = "closed-form"
    neural_tangents = "neural-tangents"


class Protocol(str, Enum):
    test = "test"
    paper = "paper"


# ------------------------------------------------------------------------------------------------- groups of options
#
# A command asks for a group by the name of a keyword-only parameter (`source`, `split`, `method`, `where`, `elm`,
# `screen`): its options are added to the command, and what is built of them is handed in.

_DATA, _METHOD, _KERNEL, _RUN, _OUT = "Data", "Method", "Kernel", "Running", "Output"


def _columns_on_the_line(ctx: typer.Context, incomplete: str) -> list[str]:
    """Column names of the data files that stand on the line already."""
    from enrelm_cli.completion import columns

    return columns([str(value) for value in ctx.params.get("data") or ()], incomplete)


@dataclass(frozen=True)
class _Group:
    options: tuple[inspect.Parameter, ...]
    build: Callable[..., Any]


def _option(
    name: str,
    kind: Any,
    default: Any,
    panel: str,
    text: str,
    *flags: str,
    metavar: str | None = None,
    complete: Any = None,
) -> inspect.Parameter:
    flags = flags or (f"--{name.replace('_', '-')}",)
    option = typer.Option(*flags, help=text, metavar=metavar, rich_help_panel=panel, autocompletion=complete)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _columns(name: str, text: str) -> inspect.Parameter:
    return _option(name, list[str] | None, None, _DATA, text, metavar="COL", complete=_columns_on_the_line)


_READ = (
    _option("delimiter", str | None, None, _DATA, "Cell separator; 'tab' for a tab. Default: by file name and header."),
    _option("decimal", str, ".", _DATA, "Decimal mark of numbers."),
    _option("encoding", str, "utf-8", _DATA, "Text encoding of CSV files."),
    _option(
        "null", list[str] | None, None, _DATA, "A cell with this text is missing (repeatable; replaces the defaults)."
    ),
)


def _build_read(delimiter: str | None, decimal: str, encoding: str, null: list[str] | None) -> ReadOptions:
    from enrelm_cli.table import ReadOptions

    separator = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    options = ReadOptions(delimiter=separator, decimal=decimal, encoding=encoding)
    return options if null is None else replace(options, nulls=tuple(null))


_SOURCE = (
    _columns("inputs", "Use only this column as input (repeatable)."),
    _columns("numeric", "Insist that this column is numbers (repeatable)."),
    _columns("categorical", "Treat this column as categories, also when it is numbers (repeatable)."),
    _columns("drop", "Leave this column out (repeatable)."),
    _option("missing", Missing, Missing.fill, _DATA, "Missing input cells: fill, drop their rows, or stop."),
    *_READ,
)


def _build_source(
    data: list[str],
    target: str,
    inputs: list[str] | None,
    numeric: list[str] | None,
    categorical: list[str] | None,
    drop: list[str] | None,
    missing: Missing,
    **read: Any,
) -> DataSettings:
    from enrelm_cli.dataset import DataSettings
    from enrelm_cli.table import Roles

    roles = Roles(target, tuple(inputs or ()), tuple(numeric or ()), tuple(categorical or ()), tuple(drop or ()))
    return DataSettings(tuple(data), roles, _build_read(**read), missing.value)


_SPLIT = (
    _option(
        "split_kind",
        SplitKind,
        SplitKind.hash,
        _DATA,
        "hash: by the inputs; shuffle: the paper's permutation.",
        "--split",
    ),
    _option("validation_size", float, 0.25, _DATA, "Share of rows that choose the number of neurons."),
    _option("seed", int, 1234, _DATA, "Seed of the split."),
)


def _build_split(split_kind: SplitKind, validation_size: float, seed: int) -> SplitSettings:
    return SplitSettings(split_kind.value, validation_size, seed)


_METHODS = (
    _option("max_neurons", int | None, None, _METHOD, "Largest network. Default: min(50 inputs, half of the rows)."),
    _option("landmarks", str, "auto", _METHOD, "Rows that stand for all in the kernel: auto, all, or a number."),
    _option("epsilon", float | None, None, _METHOD, "Step of the incremental variant. Default: 1/sqrt(rows)."),
    _option("tolerance", float, 1e-5, _METHOD, "The incremental variant stops below this improvement a step."),
    _option("max_steps", int, 100_000, _METHOD, "Most steps of the incremental variant."),
    _option(
        "weight_variance",
        float | None,
        None,
        _KERNEL,
        "Variance of hidden weights (paper: 1). Default: tuned for kernel.",
    ),
    _option(
        "bias_variance", float | None, None, _KERNEL, "Variance of hidden biases (paper: 0). Default: tuned for kernel."
    ),
    _option("depth", int | None, None, _KERNEL, "Hidden layers of the kernel (paper: 1). Default: tuned for kernel."),
    _option("activation", Activation, Activation.erf, _KERNEL, "Of the hidden layer; all but erf need the extra nngp."),
    _option(
        "kernel_backend", Backend, Backend.closed_form, _KERNEL, "Who computes the kernel; neural-tangents: extra nngp."
    ),
    _option("tune", bool, True, _KERNEL, "Tune the kernel variant's kernel on the training rows.", "--tune/--no-tune"),
    _option("tune_rows", int, KernelSettings.tune_rows, _KERNEL, "Most rows that tuning looks at."),
    _option("tune_steps", int, KernelSettings.tune_steps, _KERNEL, "Budget of tuning, in evaluations."),
)


def _build_method(
    max_neurons: int | None,
    landmarks: str,
    epsilon: float | None,
    tolerance: float,
    max_steps: int,
    activation: Activation,
    kernel_backend: Backend,
    **kernel: Any,
) -> MethodSettings:
    return MethodSettings(
        max_neurons=max_neurons,
        landmarks=_landmarks(landmarks),
        epsilon=epsilon,
        tolerance=tolerance,
        max_steps=max_steps,
        kernel=KernelSettings(activation=activation.value, backend=kernel_backend.value, **kernel),
    )


def _landmarks(text: str) -> int | None:
    if text == "auto":
        return None
    if text == "all":
        return ALL_ROWS
    if not text.isdigit():
        raise UsageError(f"--landmarks '{text}' is not auto, all or a number", "try --landmarks auto")
    return int(text)


_ELM = (
    _option("realizations", int, 20, _METHOD, "Random ELMs to average."),
    _option("elm_weight_std", float | None, None, _METHOD, "Spread of the ELM's weights. Default: 1/sqrt(inputs)."),
)


def _build_elm(realizations: int, elm_weight_std: float | None) -> ElmSettings:
    return ElmSettings(realizations, elm_weight_std)


_WHERE = (
    _option("engine", EngineName, EngineName.local, _RUN, "local threads, or a Dask cluster (extra dask)."),
    _option("scheduler", str | None, None, _RUN, "Address of a Dask scheduler, e.g. tcp://host:8786."),
    _option("threads", int, 0, _RUN, "Threads of this process; 0 for every core."),
    _option(
        "memory", str | None, None, _RUN, "Stay below this, e.g. 2G: larger tables are read from disk in each pass."
    ),
)


def _build_where(engine: EngineName, scheduler: str | None, threads: int, memory: str | None) -> EngineSettings:
    from enrelm_cli.resources import parse_bytes

    return EngineSettings(engine.value, threads, parse_bytes(memory) if memory else None, scheduler)


_SCREEN = (
    _option("quiet", bool, False, _OUT, "No notes and no progress.", "--quiet", "-q"),
    _option("verbose", bool, False, _OUT, "Log every pass.", "--verbose", "-v"),
    _option("debug", bool, False, _OUT, "Show a traceback when something fails."),
)

_GROUPS = {
    "source": _Group(_SOURCE, _build_source),
    "read": _Group(_READ, _build_read),
    "split": _Group(_SPLIT, _build_split),
    "method": _Group(_METHODS, _build_method),
    "elm": _Group(_ELM, _build_elm),
    "where": _Group(_WHERE, _build_where),
}

Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA...", help="CSV, TSV, .csv.gz or Parquet files, quoted globs, or - for stdin."),
]
Target = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="COL",
        help="The column to predict.",
        rich_help_panel=_DATA,
        autocompletion=_columns_on_the_line,
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model that `enrelm fit -o` saved.")]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to print the result.", rich_help_panel=_OUT)]
SelectOption = Annotated[
    Select,
    typer.Option(
        "--select",
        help="How to choose: lowest error, greatest curvature, or fewest within 1 %.",
        rich_help_panel=_METHOD,
    ),
]
PlotOption = Annotated[
    str | None,
    typer.Option("--plot", metavar="FILE", help="Draw to this .png, .svg or .pdf (extra plot).", rich_help_panel=_OUT),
]
HtmlOption = Annotated[
    str | None,
    typer.Option("--report", metavar="FILE", help="Write one self-contained page to this .html.", rich_help_panel=_OUT),
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"enrelm {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Non-linear regression from the shell: one deterministic fit gives networks of every size.

    Start with:  enrelm fit DATA.csv --target COL -o model.joblib
    """


# ---------------------------------------------------------------------------------------------- running a command


def _command(function: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of the groups that the function asks for, and runs it under the guard."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    own = [parameter for parameter in parameters if parameter.name not in (*_GROUPS, "screen")]
    asked = {parameter.name: _GROUPS[parameter.name] for parameter in parameters if parameter.name in _GROUPS}
    options: dict[str, inspect.Parameter] = {}
    for group in asked.values():
        options.update({option.name: option for option in group.options})

    @functools.wraps(function)
    def run(quiet: bool, verbose: bool, debug: bool, **values: Any) -> None:
        with _guard(quiet, verbose, debug) as screen:
            built = {}
            for name, group in asked.items():
                taken = {option.name: values[option.name] for option in group.options}
                if name == "source":
                    taken.update(data=values["data"], target=values["target"])
                built[name] = group.build(**taken)
            function(**{parameter.name: values[parameter.name] for parameter in own}, **built, screen=screen)

    shown = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    shown += [*options.values(), *_SCREEN]
    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return run


class _Terminated(SystemExit):
    """SIGTERM, as an exception: temporary files are removed on its way out."""


def _on_term(signum: int, frame: object) -> None:
    raise _Terminated(128 + signum)


@contextmanager
def _guard(quiet: bool, verbose: bool, debug: bool) -> Iterator[Screen]:
    """A screen to write on; errors become a line and an exit code."""
    from enrelm_cli.render import Screen, error

    signal.signal(signal.SIGTERM, _on_term)
    screen = Screen.of(sys.stdout, sys.stderr, quiet, verbose)
    try:
        yield screen
        sys.stdout.flush()
    except UserError as problem:
        if debug:
            raise
        error(screen, problem)
        raise typer.Exit(int(problem.exit_code)) from None
    except BrokenPipeError:
        # The reader (`| head`) has seen enough. What is left in the buffer must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except KeyboardInterrupt:
        if not quiet:
            print("interrupted", file=sys.stderr)
        raise typer.Exit(int(Exit.INTERRUPTED)) from None
    except MemoryError:
        error(screen, UsageError("there is not enough memory", "lower it with --memory 1G, or use --landmarks 500"))
        raise typer.Exit(int(Exit.USAGE)) from None
    except (typer.Exit, SystemExit):
        raise
    except Exception as bug:
        if debug:
            raise
        print(f"error: a bug in enrelm {__version__}: {type(bug).__name__}: {bug}", file=sys.stderr)
        print("hint: run the same command with --debug and report what it prints", file=sys.stderr)
        raise typer.Exit(int(Exit.BUG)) from None


def _engine(where: EngineSettings, screen: Screen) -> Engine:
    from enrelm_cli.render import ProgressBar

    progress = ProgressBar(screen)
    if where.engine == "dask":
        from enrelm_cli.cluster import dask_engine

        return dask_engine(where, progress)
    from enrelm_cli.folds import LocalEngine

    if where.threads:
        from threadpoolctl import threadpool_limits

        threadpool_limits(where.threads, user_api="blas")
    return LocalEngine(where.threads, progress)


def _outputs(report: Any, format: Format, plot: str | None, html: str | None, screen: Screen) -> None:
    from enrelm_cli import render

    if plot is not None:
        render.plot(report, plot)
    if html is not None:
        render.html(report, html, shlex.join(["enrelm", *sys.argv[1:]]))
    render.render(report, format.value, screen)
    for written in (plot, html):
        if written is not None:
            render.note(screen, f"wrote {written}")


# ------------------------------------------------------------------------------------------------------- commands


@app.command()
@_command
def fit(
    data: Data,
    target: Target,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Save the model here, e.g. model.joblib.", rich_help_panel=_OUT
        ),
    ] = None,
    variant: Annotated[
        Variant, typer.Option("--variant", help="Which method; auto keeps the best of all.", rich_help_panel=_METHOD)
    ] = Variant.auto,
    neurons: Annotated[
        int | None,
        typer.Option("--neurons", "-n", help="Use this many neurons instead of choosing.", rich_help_panel=_METHOD),
    ] = None,
    select: SelectOption = Select.best,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit/--no-refit", help="Fit once more to all rows at the chosen size.", rich_help_panel=_METHOD
        ),
    ] = True,
    fail_above: Annotated[
        float | None,
        typer.Option(
            "--fail-above",
            metavar="ERROR",
            help="Save nothing and exit with 5 if the validation error is above this.",
            rich_help_panel=_OUT,
        ),
    ] = None,
    format: FormatOption = Format.table,
    *,
    source: Any,
    split: Any,
    method: Any,
    where: Any,
    screen: Any,
) -> None:
    """Fit a model: choose the number of neurons on validation rows, refit on all rows, save.

    enrelm fit sample_data/friedman.csv --target y -o model.joblib

    enrelm fit sample_data/houses.csv --target price --variant incremental --select knee
    """
    method = replace(method, neurons=neurons, select=select.value, refit=refit)
    from enrelm_cli import pipeline

    report, model = pipeline.fit(source, split, method, where, variant.value, _engine(where, screen))
    passed = fail_above is None or report.validation_error <= fail_above
    if output is not None and passed:
        report = pipeline.save(report, model, output)
    _outputs(report, format, None, None, screen)
    if not passed:
        raise GateError(
            f"the validation error {report.validation_error:.4f} is above --fail-above {fail_above:g}: not saved",
            "look at `enrelm curve` and `enrelm compare`, or raise the bar",
        )


@app.command()
@_command
def predict(
    model: ModelFile,
    data: Data,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Write here instead of to stdout.", rich_help_panel=_OUT),
    ] = "-",
    id: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="COL",
            help="Copy this column to the output first (repeatable).",
            rich_help_panel=_OUT,
            autocompletion=_columns_on_the_line,
        ),
    ] = None,
    append: Annotated[
        bool,
        typer.Option(
            "--append", help="Keep every byte of the input rows and add the prediction.", rich_help_panel=_OUT
        ),
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            "--interval",
            metavar="LEVEL",
            help="Add lower and upper bounds that cover this share, e.g. 0.9.",
            rich_help_panel=_OUT,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at a category that the model has never seen.", rich_help_panel=_DATA)
    ] = False,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE.json", help="Write rows, errors and notes here.", rich_help_panel=_OUT),
    ] = None,
    *,
    read: Any,
    where: Any,
    screen: Any,
) -> None:
    """Predict with a saved model: CSV with the header `prediction`, rows in their order.

    enrelm predict model.joblib sample_data/friedman_new.csv

    enrelm predict model.joblib sample_data/friedman_new.csv --append -o predictions.csv
    """
    from enrelm_cli import prediction, render

    wanted = prediction.Wanted(tuple(data), output, tuple(id or ()), append, interval, strict, read)
    facts = prediction.predict(model, wanted, _engine(where, screen))
    if report is not None:
        render.write_json(facts, report)
    for text in facts.notes:
        render.warn(screen, text)
    if facts.errors is not None:
        render.errors(screen, facts)


@app.command()
@_command
def curve(
    data: Data,
    target: Target,
    variant: Annotated[
        CurveVariant,
        typer.Option("--variant", help="Which method's curve; all draws the three.", rich_help_panel=_METHOD),
    ] = CurveVariant.kernel,
    with_elm: Annotated[
        bool, typer.Option("--with-elm", help="Add the random ELM's band.", rich_help_panel=_METHOD)
    ] = False,
    format: FormatOption = Format.table,
    plot: PlotOption = None,
    report: HtmlOption = None,
    *,
    source: Any,
    split: Any,
    method: Any,
    elm: Any,
    where: Any,
    screen: Any,
) -> None:
    """Show the error of every network size, and three choices of the number of neurons.

    enrelm curve sample_data/friedman.csv --target y

    enrelm curve sample_data/network.csv --target y --variant incremental --with-elm
    """
    from enrelm_cli import pipeline

    variants = VARIANTS if variant is CurveVariant.all else (variant.value,)
    facts = pipeline.curve(source, split, method, where, variants, elm if with_elm else None, _engine(where, screen))
    _outputs(facts, format, plot, report, screen)


@app.command()
@_command
def compare(
    data: Data,
    target: Target,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Compare this method (repeatable). Default: all there are.",
            rich_help_panel=_METHOD,
        ),
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(
            "--protocol",
            help="test: honest test rows; paper: choose and report on the same rows.",
            rich_help_panel=_METHOD,
        ),
    ] = Protocol.test,
    repeats: Annotated[int, typer.Option("--repeats", help="Number of splits.", rich_help_panel=_METHOD, min=1)] = 5,
    test_size: Annotated[
        float, typer.Option("--test-size", help="Share of rows that only judge.", rich_help_panel=_DATA)
    ] = 0.25,
    select: SelectOption = Select.best,
    format: FormatOption = Format.table,
    plot: PlotOption = None,
    report: HtmlOption = None,
    *,
    source: Any,
    split: Any,
    method: Any,
    elm: Any,
    where: Any,
    screen: Any,
) -> None:
    """Compare the variants, the random ELM and linear regression on the same splits.

    enrelm compare sample_data/friedman.csv --target y

    enrelm compare sample_data/linear.csv --target y --protocol paper --format markdown
    """
    from enrelm_cli import pipeline

    method = replace(method, select=select.value)
    chosen = pipeline.ComparePlan(tuple(methods or pipeline.METHODS), protocol.value, repeats, test_size)
    facts = pipeline.compare(source, split, method, where, elm, chosen, _engine(where, screen))
    _outputs(facts, format, plot, report, screen)


@app.command()
@_command
def info(model: ModelFile, format: FormatOption = Format.table, *, screen: Any) -> None:
    """Say what a saved model is: variant, inputs, errors, settings, versions, data.

    enrelm info model.joblib

    enrelm info model.joblib --format json
    """
    from enrelm_cli import prediction, render

    render.render(prediction.info(model), format.value, screen)


@app.command()
@_command
def sample(
    number: Annotated[int, typer.Argument(metavar="N", help="1 to 48: which of the paper's synthetic datasets.")],
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draw.")] = 1234,
    rows: Annotated[
        int | None, typer.Option("--rows", min=1, help="Draw this many rows instead of the paper's.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write here instead of to stdout.")
    ] = "-",
    *,
    screen: Any,
) -> None:
    """Write one of the paper's 48 synthetic datasets as CSV.

    enrelm sample 4 > linear.csv

    enrelm sample 10 --rows 100000 -o network.csv
    """
    from enrelm_cli import synthetic
    from enrelm_cli.output import atomic_writer

    if not 1 <= number <= 48:
        raise UsageError(f"there is no synthetic dataset {number}", "choose one from 1 to 48")
    with atomic_writer(output) as stream:
        for index, part in enumerate(synthetic.chunks(number, seed, rows)):
            synthetic.write_csv(part, stream, header=index == 0)


def main() -> None:
    """The console script."""
    app()
