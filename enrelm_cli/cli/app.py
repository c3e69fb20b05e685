"""The command line: options -> settings -> library -> render. The only file that knows Typer.

`enrelm --help` must stay quick, so numpy, scipy, pyarrow and rich are imported inside the commands that need them.
"""

from __future__ import annotations

import functools
import inspect
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

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
    from enrelm_cli.fold.folds import Engine
    from enrelm_cli.inputs.dataset import DataSettings
    from enrelm_cli.report.reports import CompareReport, CurveReport
    from enrelm_cli.show.render import Screen
    from enrelm_cli.table.table import ReadOptions

EXIT_CODES = (
    ("0", "ok"),
    ("1", "a bug in enrelm"),
    ("2", "usage: options that do not exist or do not fit together"),
    ("3", "data: a table that cannot be read or fitted"),
    ("4", "model file: absent, damaged, foreign or too new"),
    ("5", "the error is above --fail-above; nothing was saved"),
    ("130", "interrupted"),
    ("143", "terminated; nothing half-written is left"),
)

app = typer.Typer(
    name="enrelm",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes\n\n" + "\n".join(f"{code:>5}  {meaning}" for code, meaning in EXIT_CODES),
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
    algebraic = "algebraic"


class Backend(str, Enum):
    closed_form = "closed-form"
    neural_tangents = "neural-tangents"


class ExportFormat(str, Enum):
    onnx = "onnx"


class Dtype(str, Enum):
    float64 = "float64"
    float32 = "float32"


class Protocol(str, Enum):
    test = "test"
    paper = "paper"


# ------------------------------------------------------------------------------------------------- groups of options
#
# A command asks for a group by the name of a keyword-only parameter (`source`, `split`, `method`, `where`, `elm`,
# `screen`): its options are added to the command, and what is built of them is handed in.

_DATA, _METHOD, _KERNEL, _RUN, _OUT = PANELS = "Data", "Method", "Kernel", "Running", "Output"
_METAVARS = {int: "N", int | None: "N", float: "NUMBER", float | None: "NUMBER"}


def _columns_on_the_line(ctx: typer.Context, incomplete: str) -> list[str]:
    """Column names of the data files that stand on the line already."""
    from enrelm_cli.cli.completion import columns, data_files

    return columns(data_files(ctx.params, ctx.args), incomplete)


def _methods_to_compare(incomplete: str) -> list[str]:
    from enrelm_cli.commands.compare import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


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
    metavar = metavar or _METAVARS.get(kind)
    option = typer.Option(*flags, help=text, metavar=metavar, rich_help_panel=panel, autocompletion=complete)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _columns(name: str, text: str) -> inspect.Parameter:
    return _option(name, list[str] | None, None, _DATA, text, metavar="COL", complete=_columns_on_the_line)


_READ = (
    _option(
        "delimiter",
        str | None,
        None,
        _DATA,
        "Cell separator; tab for a tab. Default: by file name and header.",
        metavar="CHAR",
    ),
    _option("decimal", str, ".", _DATA, "Decimal mark of numbers.", metavar="MARK"),
    _option("encoding", str, "utf-8", _DATA, "Text encoding of CSV files.", metavar="NAME"),
    _option(
        "null",
        list[str] | None,
        None,
        _DATA,
        "A cell with this text is missing (repeatable; replaces NA, NaN, null and ?).",
        metavar="TEXT",
    ),
)


# Whether this process is the command and nothing else.
_ours = False


class _NoPandas:
    """A finder that says there is none."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _arrow_without_pandas() -> None:
    """Import pyarrow, which would import an installed pandas with its first scalar: 0.15 s, for nothing we use."""
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow

        pyarrow.scalar(0)
    finally:
        sys.meta_path.remove(finder)


def _build_read(delimiter: str | None, decimal: str, encoding: str, null: list[str] | None) -> ReadOptions:
    if _ours:
        _arrow_without_pandas()
    from enrelm_cli.table.table import ReadOptions

    separator = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    options = ReadOptions(delimiter=separator, decimal=decimal, encoding=encoding)
    return options if null is None else replace(options, nulls=tuple(null))


_SOURCE = (
    _columns("inputs", "Use only this column as input (repeatable)."),
    _columns("numeric", "Insist that this column is numbers (repeatable)."),
    _columns("categorical", "Treat this column as categories, also when it is numbers (repeatable)."),
    _columns("drop", "Leave this column out (repeatable)."),
    _option(
        "missing",
        Missing,
        Missing.fill,
        _DATA,
        "Missing input cells: fill them, drop their rows, or error.",
        metavar="HOW",
    ),
    *_READ,
)


def _build_source(
    data: list[str],
    target: str | None,
    inputs: list[str] | None,
    numeric: list[str] | None,
    categorical: list[str] | None,
    drop: list[str] | None,
    missing: Missing,
    **read: Any,
) -> DataSettings:
    options = _build_read(**read)
    from enrelm_cli.inputs.dataset import DataSettings
    from enrelm_cli.table.table import Roles, require_target

    if target is None:
        require_target(data, options)
    roles = Roles(target, tuple(inputs or ()), tuple(numeric or ()), tuple(categorical or ()), tuple(drop or ()))
    return DataSettings(tuple(data), roles, options, missing.value)


_SPLIT = (
    _option(
        "split_kind",
        SplitKind,
        SplitKind.hash,
        _DATA,
        "Rows are split by a hash of their inputs, or by shuffle: the paper's permutation.",
        "--split",
        metavar="HOW",
    ),
    _option("validation_size", float, 0.25, _DATA, "Share of rows that choose the number of neurons."),
    _option("seed", int, 1234, _DATA, "Seed of the split."),
)


def _build_split(split_kind: SplitKind, validation_size: float, seed: int) -> SplitSettings:
    return SplitSettings(split_kind.value, validation_size, seed)


_METHODS = (
    _option("max_neurons", int | None, None, _METHOD, "Largest network. Default: min(50 inputs, half of the rows)."),
    _option(
        "landmarks", str, "auto", _METHOD, "Rows that stand for all in the kernel: auto, all, or a number.", metavar="M"
    ),
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
    _option(
        "activation", Activation, Activation.erf, _KERNEL, "erf; tanh and arctan need the extra nngp.", metavar="NAME"
    ),
    _option(
        "kernel_backend",
        Backend,
        Backend.closed_form,
        _KERNEL,
        "What computes the kernel: closed-form, or neural-tangents (extra nngp).",
        metavar="NAME",
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
    _option(
        "engine",
        EngineName,
        EngineName.local,
        _RUN,
        "local: threads of this process; dask: a cluster (extra dask).",
        metavar="NAME",
    ),
    _option("scheduler", str | None, None, _RUN, "A Dask scheduler, e.g. tcp://host:8786.", metavar="ADDRESS"),
    _option("threads", int, 0, _RUN, "Threads of this process; 0 for every core."),
    _option(
        "memory",
        str | None,
        None,
        _RUN,
        "Stay below this, e.g. 2G: larger tables are read from disk in each pass. Default: half of what is free.",
        metavar="SIZE",
    ),
)


def _build_where(engine: EngineName, scheduler: str | None, threads: int, memory: str | None) -> EngineSettings:
    from enrelm_cli.fold.resources import parse_bytes

    return EngineSettings(engine.value, threads, parse_bytes(memory) if memory else None, scheduler)


_SCREEN = (
    _option("quiet", bool, False, _OUT, "Only results and errors.", "--quiet", "-q"),
    _option("verbose", bool, False, _OUT, "Log every pass over the rows.", "--verbose", "-v"),
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
Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="CSV, TSV, .csv.gz or Parquet files or quoted globs, each a table of its own; - for stdin.",
    ),
]
# Not required for Typer, whose complaint could not say which columns there are.
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COL",
        help="The column to predict (required).",
        rich_help_panel=_DATA,
        autocompletion=_columns_on_the_line,
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model that `enrelm fit -o` saved.")]
FormatOption = Annotated[
    Format,
    typer.Option("--format", "-f", metavar="FORMAT", help="table, json, csv or markdown.", rich_help_panel=_OUT),
]
SelectOption = Annotated[
    Select | None,
    typer.Option(
        "--select",
        metavar="HOW",
        help="best: lowest error; knee: greatest curvature; smallest: fewest neurons within 1 % of the best. "
        "Default: best; of kernel all neurons, unless fewer are clearly better.",
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


def _shown(text: str | None) -> str:
    """A docstring as Typer's help, where all but the first paragraph is dim: lines to type are not."""
    lines = inspect.cleandoc(text or "").splitlines()
    return "\n".join(f"[not dim]{line}[/]" if line.startswith("enrelm ") else line for line in lines)


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Non-linear regression from the shell: one deterministic fit gives networks of every size.

    # make a model, then use it; `enrelm COMMAND -h` has more
    enrelm fit sample_data/friedman.csv --target y -o model.joblib
    enrelm predict model.joblib sample_data/friedman_new.csv
    """


app.callback(help=_shown(_root.__doc__))(_root)


# ---------------------------------------------------------------------------------------------- running a command


class _Command(TyperCommand):
    """Its --help stands with the other options of the last panel, not in a panel of its own before all others."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel = _OUT
        return option


def _command(function: Callable[..., None]) -> Callable[..., None]:
    """Makes a command of the function: adds the options of the groups that it asks for, and runs it under the guard."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    own = [parameter for parameter in parameters if parameter.name not in (*_GROUPS, "screen", "typed")]
    asked = {parameter.name: _GROUPS[parameter.name] for parameter in parameters if parameter.name in _GROUPS}
    options: dict[str, inspect.Parameter] = {}
    for group in asked.values():
        options.update({option.name: option for option in group.options})

    @functools.wraps(function)
    def run(ctx: typer.Context, quiet: bool, verbose: bool, debug: bool, **values: Any) -> None:
        with _guard(quiet, verbose, debug) as screen:
            built = {}
            for name, group in asked.items():
                taken = {option.name: values[option.name] for option in group.options}
                if name == "source":
                    taken.update(data=values["data"], target=values["target"])
                built[name] = group.build(**taken)
            if any(parameter.name == "typed" for parameter in parameters):
                built["typed"] = _typed(ctx)
            function(**{parameter.name: values[parameter.name] for parameter in own}, **built, screen=screen)

    shown = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    shown = sorted([*shown, *options.values(), *_SCREEN], key=_panel_order)
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    run.__signature__ = inspect.Signature([context, *shown])  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in [context, *shown]}
    return app.command(function.__name__, cls=_Command, help=_shown(function.__doc__))(run)


def _panel_order(parameter: inspect.Parameter) -> int:
    """Typer shows panels in the order in which it meets them; arguments have none and come first."""
    panel = getattr(parameter.annotation.__metadata__[0], "rich_help_panel", None)
    return PANELS.index(panel) if panel else -1


def _typed(ctx: typer.Context) -> dict[str, list[str]]:
    """What stood on the command line, by parameter: {"target": ["--target", "y"], "tune": ["--no-tune"]}."""
    words: dict[str, list[str]] = {}
    for parameter in ctx.command.params:
        name, flags = parameter.name or "", parameter.opts
        source = ctx.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE":
            continue
        value = ctx.params[name]
        flag = next((flag for flag in flags if flag.startswith("--")), None)
        if isinstance(value, bool):
            words[name] = [flag if value else parameter.secondary_opts[0]] if flag else []
            continue
        values = [str(getattr(one, "value", one)) for one in (value if isinstance(value, (list, tuple)) else [value])]
        words[name] = [word for one in values for word in ((flag, one) if flag else (one,))]
    return words


# A signal may arrive where a library swallows exceptions (pyarrow does, while it looks for pandas); the next pass over
# rows then raises it again.
_received: list[int] = []


class _Terminated(SystemExit):
    """SIGTERM, as an exception: temporary files are removed on its way out."""


def _on_signal(signum: int, frame: object) -> None:
    _received.append(signum)
    _raise_received()


def _raise_received() -> None:
    if _received:
        raise KeyboardInterrupt if _received[0] == signal.SIGINT else _Terminated(128 + _received[0])


@contextmanager
def _guard(quiet: bool, verbose: bool, debug: bool) -> Iterator[Screen]:
    """A screen to write on; errors become a line and an exit code."""
    from enrelm_cli.files import FULL, FULL_HINT, to_nowhere
    from enrelm_cli.show.render import Screen, error

    _received.clear()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _on_signal)
    screen = Screen.of(sys.stdout, sys.stderr, quiet, verbose)
    try:
        yield screen
        sys.stdout.flush()
    except UserError as problem:
        if debug:
            traceback.print_exc()
        error(screen, problem)
        raise typer.Exit(int(problem.exit_code)) from None
    except BrokenPipeError:
        # The reader (`| head`) has seen enough. What is left in the buffer must not fail again at exit.
        to_nowhere(sys.stdout)
        raise typer.Exit(0) from None
    except KeyboardInterrupt:
        screen.line.clear(screen.err)
        if not quiet:
            print("interrupted", file=sys.stderr)
        raise typer.Exit(int(Exit.INTERRUPTED)) from None
    except OSError as problem:
        if problem.errno not in FULL:
            raise _bug(problem, debug) from None
        to_nowhere(sys.stdout)
        error(screen, UsageError(f"the output cannot be written ({problem.strerror})", FULL_HINT))
        raise typer.Exit(int(Exit.USAGE)) from None
    except MemoryError:
        error(screen, UsageError("there is not enough memory", "lower it with --memory 1G, or use --landmarks 500"))
        raise typer.Exit(int(Exit.USAGE)) from None
    except (typer.Exit, SystemExit):
        raise
    except Exception as bug:
        raise _bug(bug, debug) from None


def _bug(bug: Exception, debug: bool) -> typer.Exit:
    """Says so, and how to report it."""
    if debug:
        traceback.print_exception(bug)
    print(f"error: a bug in enrelm {__version__}: {type(bug).__name__}: {bug}", file=sys.stderr)
    print(f"hint: {'report this' if debug else 'run it with --debug and report what it prints'}", file=sys.stderr)
    return typer.Exit(int(Exit.BUG))


def _engine(where: EngineSettings, screen: Screen) -> Engine:
    from enrelm_cli.show.render import ProgressBar

    class Interruptible(ProgressBar):
        def advance(self, rows: int) -> None:
            _raise_received()
            super().advance(rows)

    progress = Interruptible(screen)
    if where.engine == "dask":
        from enrelm_cli.fold.connection import dask_engine

        return dask_engine(where, progress)
    from enrelm_cli.fold.folds import LocalEngine

    if where.threads:
        from threadpoolctl import threadpool_limits

        threadpool_limits(where.threads, user_api="blas")
    return LocalEngine(where.threads, progress)


def _check_outputs(*files: str | None, plot: str | None = None) -> None:
    """A file that cannot be written is worth knowing before an hour of fitting."""
    from enrelm_cli.files import check_writable

    for path in (*files, plot):
        if path is not None and path != "-":
            check_writable(path)
    if plot is not None:
        from enrelm_cli.show import plots

        plots.check(plot)


def _draw(report: CurveReport | Sequence[CompareReport], plot: str | None, page: str | None, screen: Screen) -> None:
    """Figure and page, where they were asked for."""
    from enrelm_cli.report import words
    from enrelm_cli.show import render

    if plot is not None:
        render.plot(report, plot)
    if page is not None:
        render.html(report, page, words.shell(["enrelm", *sys.argv[1:]]))
    for written in (plot, page):
        if written is not None:
            render.note(screen, f"wrote {written}")


# ------------------------------------------------------------------------------------------------------- commands


@_command
def fit(
    data: Data,
    target: Target = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Save the model here, e.g. model.joblib.", rich_help_panel=_OUT
        ),
    ] = None,
    variant: Annotated[
        Variant,
        typer.Option(
            "--variant",
            metavar="NAME",
            help="approximate, incremental, kernel, or auto: the best of the three.",
            rich_help_panel=_METHOD,
        ),
    ] = Variant.auto,
    neurons: Annotated[
        int | None,
        typer.Option(
            "--neurons", "-n", metavar="N", help="Use this many neurons instead of choosing.", rich_help_panel=_METHOD
        ),
    ] = None,
    select: SelectOption = None,
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

    # the best of all variants, saved
    enrelm fit sample_data/friedman.csv --target y -o model.joblib
    # a table with text, dates and missing cells; few neurons
    enrelm fit sample_data/houses.csv -t price --drop house_id --select smallest
    """
    method = replace(method, neurons=neurons, select=select and select.value, refit=refit)
    _check_outputs(output)
    from enrelm_cli.commands import fit as command
    from enrelm_cli.commands.saved import save
    from enrelm_cli.show import render

    report, model = command.fit(source, split, method, where, variant.value, _engine(where, screen))
    passed = fail_above is None or report.validation_error <= fail_above
    if output is not None and passed:
        report = save(report, model, output)
    if not passed:
        report = replace(report, not_saved="not saved: the validation error is above --fail-above")
    render.render(report, format.value, screen.on_stderr() if output == "-" else screen)
    if not passed:
        raise GateError(
            f"the validation error {report.validation_error:.4f} is above --fail-above {fail_above:g}: not saved",
            "look at `enrelm curve` and `enrelm compare`, or raise the bar",
        )


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

    # predictions on stdout
    enrelm predict model.joblib sample_data/friedman_new.csv
    # every column of the input and then the prediction, into a file
    enrelm predict model.joblib sample_data/friedman_new.csv --append -o out.csv
    """
    _check_outputs(output, report)
    from enrelm_cli.commands import predict as command
    from enrelm_cli.report import words
    from enrelm_cli.show import render

    wanted = command.Wanted(tuple(data), output, tuple(id or ()), append, interval, strict, read)
    facts = command.predict(model, wanted, _engine(where, screen))
    if report is not None:
        render.write_json(facts, report)
    for text in facts.notes:
        render.warn(screen, text)
    if facts.errors is not None:
        render.errors(screen, facts)
    elif output != "-":
        render.note(screen, f"wrote {output}, {words.counted(facts.rows, 'row')}")


@_command
def curve(
    data: Data,
    target: Target = None,
    variant: Annotated[
        CurveVariant,
        typer.Option(
            "--variant",
            metavar="NAME",
            help="approximate, incremental, kernel, or all three in one figure.",
            rich_help_panel=_METHOD,
        ),
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
    typed: Any,
    screen: Any,
) -> None:
    """Show the error of every network size, and three choices of the number of neurons.

    # the kernel variant, tuned
    enrelm curve sample_data/friedman.csv --target y
    # the paper's incremental variant beside random ELMs
    enrelm curve sample_data/network.csv -t y --variant incremental --with-elm
    """
    _check_outputs(report, plot=plot)
    from enrelm_cli.commands import curve as command
    from enrelm_cli.show import render

    variants = VARIANTS if variant is CurveVariant.all else (variant.value,)
    facts = command.curve(source, split, method, where, variants, elm if with_elm else None, _engine(where, screen))
    facts = replace(facts, settings={**facts.settings, "fit_command": _fit_command(facts, typed)})
    render.render(facts, format.value, screen)
    _draw(facts, plot, report, screen)


def _fit_command(report: CurveReport, typed: dict[str, list[str]]) -> str:
    """The fit that uses the curve's best choice, with every option of the curve's line that `fit` knows."""
    from enrelm_cli.report import words
    from enrelm_cli.report.views import best_curve

    winner = best_curve(report.curves)
    groups = (_GROUPS[name] for name in ("source", "split", "method", "where"))
    names = ["data", "target", *(option.name for group in groups for option in group.options)]
    kept = [word for name in names for word in typed.get(name, ())]
    chosen = ["--variant", winner.variant, "--neurons", str(winner.choices.best.neurons), "-o", "model.joblib"]
    return words.shell(["enrelm", "fit", *kept, *chosen])


@_command
def compare(
    data: Tables,
    target: Target = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Compare this method (repeatable). Default: all there are.",
            rich_help_panel=_METHOD,
            autocompletion=_methods_to_compare,
        ),
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(
            "--protocol",
            metavar="HOW",
            help="test: honest test rows; paper: choose and report on the same rows.",
            rich_help_panel=_METHOD,
        ),
    ] = Protocol.test,
    repeats: Annotated[
        int,
        typer.Option("--repeats", metavar="N", help="Number of splits.", rich_help_panel=_METHOD, min=1),
    ] = 5,
    test_size: Annotated[
        float,
        typer.Option("--test-size", metavar="NUMBER", help="Share of rows that only judge.", rich_help_panel=_DATA),
    ] = 0.25,
    select: SelectOption = None,
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

    # every method on rows that chose nothing
    enrelm compare sample_data/friedman.csv --target y
    # a table for each file, and their ranks
    enrelm compare sample_data/linear.csv sample_data/network.csv -t y --repeats 2
    """
    _check_outputs(report, plot=plot)
    from enrelm_cli.commands import compare as command
    from enrelm_cli.show import render

    method = replace(method, select=select and select.value)
    plan = command.ComparePlan(tuple(methods or command.default_methods()), protocol.value, repeats, test_size)
    tables = _one_by_one(source)
    engine = _engine(where, screen)
    reports: list[CompareReport] = []
    for number, table in enumerate(tables, 1):
        if len(tables) > 1:
            render.log(screen, f"table {number} of {len(tables)}: {table.sources[0]}")
        facts = command.compare(table, split, method, where, elm, plan, engine)
        reports.append(replace(facts, settings={**facts.settings, "threads": getattr(engine, "workers", None)}))
    render.render_many(reports, format.value, screen)
    _draw(reports, plot, report, screen)


def _one_by_one(source: DataSettings) -> list[DataSettings]:
    """Every DATA as a table of its own. Their headers are read before the first is fitted."""
    from enrelm_cli.table.table import open_table

    if source.sources.count("-") > 1:
        raise UsageError("stdin (-) can be read only once", "name each table once")
    tables = [replace(source, sources=(one,)) for one in source.sources]
    if len(tables) > 1:
        for table in tables:
            if table.sources != ("-",):
                open_table(table.sources, table.read, table.roles)
    return tables


@_command
def info(model: ModelFile, format: FormatOption = Format.table, *, screen: Any) -> None:
    """Say what a saved model is: variant, inputs, errors, settings, versions, data.

    # for people
    enrelm info model.joblib
    # for programs
    enrelm info model.joblib --format json
    """
    from enrelm_cli.commands import info as command
    from enrelm_cli.show import render

    render.render(command.info(model), format.value, screen)


@_command
def export(
    model: ModelFile,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Write here, e.g. model.onnx.", rich_help_panel=_OUT),
    ],
    to: Annotated[
        ExportFormat, typer.Option("--to", metavar="NAME", help="onnx (extra onnx).", rich_help_panel=_OUT)
    ] = ExportFormat.onnx,
    dtype: Annotated[
        Dtype,
        typer.Option(
            "--dtype", metavar="NAME", help="Of numbers in and out: float64 or float32.", rich_help_panel=_OUT
        ),
    ] = Dtype.float64,
    encoded: Annotated[
        bool,
        typer.Option("--encoded", help="Take encoded inputs, for runtimes that have no strings.", rich_help_panel=_OUT),
    ] = False,
    *,
    screen: Any,
) -> None:
    """Write a saved model as ONNX, to predict where there is no Python: raw columns in, predictions out.

    # an input for each column
    enrelm export model.joblib -o model.onnx  # needs onnx
    # encoded numbers instead, for runtimes that have no strings
    enrelm export model.joblib --encoded -o encoded.onnx  # needs onnx
    """
    _check_outputs(output)
    from enrelm_cli.commands import export as command
    from enrelm_cli.commands.saved import load_model
    from enrelm_cli.files import atomic_writer
    from enrelm_cli.show import render

    exported = command.export(load_model(model), dtype.value, encoded)
    with atomic_writer(output) as stream:
        stream.write(exported.content)
    if output != "-":
        names = ", ".join(f"{port.name} ({port.type})" for port in exported.inputs)
        render.note(screen, f"wrote {output}: {names} -> {exported.output} ({dtype.value})")


@_command
def sample(
    number: Annotated[int, typer.Argument(metavar="N", help="1 to 48: which of the paper's synthetic datasets.")],
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the draw.", rich_help_panel=_DATA)] = 1234,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows", metavar="N", min=1, help="Draw this many rows instead of the paper's.", rich_help_panel=_DATA
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Write here instead of to stdout.", rich_help_panel=_OUT),
    ] = "-",
    *,
    screen: Any,
) -> None:
    """Write one of the paper's 48 synthetic datasets as CSV.

    # a linear function of 20 inputs with noise
    enrelm sample 4 > linear.csv
    # a shallow network, with as many rows as you like
    enrelm sample 10 --rows 100000 -o network.csv
    """
    _check_outputs(output)
    from enrelm_cli.commands import synthetic
    from enrelm_cli.files import atomic_writer

    if not 1 <= number <= 48:
        raise UsageError(f"there is no synthetic dataset {number}", "choose one from 1 to 48")
    with atomic_writer(output) as stream:
        for index, part in enumerate(synthetic.chunks(number, seed, rows)):
            synthetic.write_csv(part, stream, header=index == 0)


def main() -> None:
    """The console script, and `python -m enrelm_cli`: both are called enrelm."""
    global _ours
    _ours = True
    # Typer builds every option of every registered command; the one that is typed is enough.
    typed = [command for command in app.registered_commands if [command.name] == sys.argv[1:2]]
    app.registered_commands = typed or app.registered_commands
    app(prog_name="enrelm")
