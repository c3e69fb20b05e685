"""enrelm predict, beside the commands that fit (commands.py)."""

from __future__ import annotations

from dataclasses import dataclass

from enrelm_cli.cli.commands import ModelFile
from enrelm_cli.cli.outputs import engine_of
from enrelm_cli.cli.program import command
from enrelm_cli.errors import DriftError, UsageError
from enrelm_cli.fields import DATA, OUTPUT, Settings, argument, choice, flag, real, reals, text, texts, whole
from enrelm_cli.files import Output, check_outputs, is_stdout
from enrelm_cli.output_formats import FORMATS, format_of
from enrelm_cli.settings import EngineSettings, ReadOptions
from enrelm_cli.show.screen import Screen, note, warn


@dataclass(frozen=True)
class PredictOptions(Settings):
    sources: tuple[str, ...] = argument(
        "data", "Files as `enrelm fit` reads them, quoted globs, s3://, or - for stdin.", "DATA...", repeatable=True
    )
    strict: bool = flag(False, "Fail on a category that the model has not seen.", DATA)
    output: str = text(
        "-",
        "Output file; its extension sets the format: .csv, .tsv, .jsonl, .json (or .gz, .zst, .bz2), .parquet, .arrow.",
        OUTPUT,
        "FILE",
        flags=("--output", "-o"),
    )
    format: str | None = choice(
        None,
        FORMATS,
        f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}. Default: by file extension; csv on stdout.",
        OUTPUT,
        metavar="FORMAT",
        flags=("--format", "-f"),
    )
    ids: tuple[str, ...] = texts(
        "Copy these columns to the output, e.g. a,b or x_* (repeatable).",
        OUTPUT,
        "COL",
        flags=("--id",),
        completion="columns",
    )
    append: bool = flag(
        False, "Keep every column (CSV to CSV byte for byte, Parquet with its types) and append the prediction.", OUTPUT
    )
    precision: int | None = whole(
        None, "Round numbers to this many significant digits.", OUTPUT, at_least=1, at_most=17
    )
    intervals: tuple[float, ...] = reals(
        "Add lower and upper bounds with this coverage, e.g. 0.9 (repeatable).", OUTPUT, "LEVEL", flags=("--interval",)
    )
    quantiles: tuple[float, ...] = reals(
        "Add this quantile of the target, e.g. 0.1 (repeatable).",
        OUTPUT,
        "SHARE",
        flags=("--quantile",),
    )
    explain: bool = flag(
        False,
        "Add the average prediction and what each column adds to it (effect_COLUMN); for classes, to their log-odds.",
        OUTPUT,
    )
    explain_top: int | None = whole(
        None, "Only the K largest effects of each row: their columns and values.", OUTPUT, at_least=1, metavar="K"
    )
    probabilities: bool = flag(False, "Add a column of probabilities for each class, p_<class>.", OUTPUT)
    threshold: float | None = real(
        None,
        "Predict the second of two classes at or above this probability. Default: the more probable class.",
        OUTPUT,
        above=0.0,
        below=1.0,
    )
    set_level: float | None = real(
        None,
        "Add the smallest set of classes with this coverage, e.g. 0.9.",
        OUTPUT,
        metavar="LEVEL",
        flags=("--set",),
    )
    report: str | None = text(None, "Write row counts, errors, drift and notes to this file.", OUTPUT, "FILE.json")
    fail_drift: float | None = real(
        None,
        "Exit with code 6 after writing if a column's stability index (PSI) or the share of far rows is above this.",
        OUTPUT,
        above=0.0,
        metavar="PSI",
    )


@command
def predict(
    model: ModelFile, options: PredictOptions, read: ReadOptions, where: EngineSettings, screen: Screen
) -> None:
    """Predict with a saved model: a column `prediction`, rows in input order.

    # predictions on stdout
    enrelm predict model.joblib sample_data/friedman_new.csv
    # every input column and the prediction, to a file
    enrelm predict model.joblib sample_data/friedman_new.csv --append -o out.csv
    """
    outputs = [Output("-o", options.output, "predictions")]
    if options.report is not None:
        outputs.append(Output("--report", options.report, "JSON"))
    check_outputs([model.path, *options.sources], outputs)
    form = format_of(options.output, options.format)
    if form.is_binary and is_stdout(options.output) and screen.out.terminal:
        raise UsageError(f"{form.name} is not for a terminal", "name a file with -o, or pipe it")
    from enrelm_cli.commands import predict as library
    from enrelm_cli.commands.classes.predicting import ClassesWanted
    from enrelm_cli.report import words
    from enrelm_cli.show import render

    how = (options.ids, options.append, options.intervals, options.quantiles, options.strict)
    classes = ClassesWanted(options.probabilities, options.threshold, options.set_level)
    looks = (form, options.precision, options.explain, options.explain_top)
    drift = library.DriftWanted(options.report is not None, options.fail_drift)
    wanted = library.Wanted(options.sources, options.output, *how, read, where.memory, *looks, classes, drift)
    facts = library.predict(model.path, wanted, engine_of(where, screen))
    if options.report is not None:
        render.write_json(facts, options.report)
    for line in facts.notes:
        warn(screen, line)
    if facts.has_known_targets:
        render.errors(screen, facts)
    elif not is_stdout(options.output):
        note(screen, f"wrote {options.output}, {words.counted(facts.rows, 'row')}")
    alarms = () if facts.drift is None or options.fail_drift is None else facts.drift.alarms
    if alarms:
        raise DriftError(
            f"drift above --fail-drift {options.fail_drift:g}: {', '.join(alarms[:5])}"
            + (" ..." if alarms[5:] else ""),
            "the predictions were written; look at the columns, or fit again with newer rows",
        )
