"""enrelm update and merge: rows added to a model without the old ones, and models of one parent put together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from enrelm_cli.cli.commands import ModelFile, Shown
from enrelm_cli.cli.outputs import engine_of
from enrelm_cli.cli.program import command
from enrelm_cli.errors import UsageError
from enrelm_cli.fields import DATA, METHOD, OUTPUT, REQUIRED, Settings, argument, real, text, texts
from enrelm_cli.files import Output, check_outputs, is_stdout
from enrelm_cli.settings import EngineSettings, ReadOptions
from enrelm_cli.show.screen import Screen


@dataclass(frozen=True)
class UpdateOptions(Settings):
    new: tuple[str, ...] = argument(
        "new", "Tables of new rows, as `enrelm fit` reads them.", "NEW...", repeatable=True, default=()
    )
    remove: tuple[str, ...] = texts("Remove the rows of this table from the model (repeatable).", DATA, "OLD.csv")
    forget: float | None = real(
        None, "Multiply the weight of earlier rows by this, e.g. 0.9.", METHOD, above=0.0, below=1.0, metavar="FACTOR"
    )
    output: str | None = text(
        None, "Write the new model here. Default: in place of the old one.", OUTPUT, "FILE", flags=("--output", "-o")
    )
    fail_above: float | None = real(
        None, "Exit with code 5 and change nothing if the validation error is above this.", OUTPUT, metavar="ERROR"
    )
    fail_drift: float | None = real(
        None,
        "Exit with code 5 and change nothing if the model's error on the new rows is above this many times its "
        "validation error.",
        OUTPUT,
        metavar="RATIO",
    )


@command
def update(
    model: ModelFile, options: UpdateOptions, read: ReadOptions, where: EngineSettings, shown: Shown, screen: Screen
) -> None:
    """Add new rows to a model fitted with --updatable, without the old rows; or remove rows.

    # a model that keeps the sums of its rows
    enrelm fit sample_data/network.csv -t y --updatable -o kept.joblib
    # add rows; without -o, in place
    enrelm update kept.joblib sample_data/linear.csv --fail-above 2 -o next.joblib
    """
    sources = [model.path, *options.new, *options.remove]
    check_outputs(sources, [Output("-o", options.output, "a model")] if options.output is not None else [])
    from enrelm_cli.commands.updating import update as library
    from enrelm_cli.show import render

    wanted = library.Wanted(
        model.path,
        options.new,
        options.remove,
        options.forget,
        options.output,
        options.fail_above,
        options.fail_drift,
    )
    report = library.update(wanted, read, engine_of(where, screen))
    on_stdout = options.output is not None and is_stdout(options.output)
    render.render(report, shown.format, screen.on_stderr() if on_stdout else screen)


@dataclass(frozen=True)
class MergeOptions(Settings):
    models: tuple[str, ...] = argument(
        "models", "Models made with `enrelm fit --like` one parent.", "MODEL...", repeatable=True
    )
    output: str = text(REQUIRED, "Write the merged model here.", OUTPUT, "FILE", flags=("--output", "-o"))


@command
def merge(options: MergeOptions, where: EngineSettings, shown: Shown, screen: Screen) -> None:
    """Merge models of different rows with the same parent: equal to one fit of all their rows.

    # the rows of another place, with the parent's landmarks, inputs and kernel
    enrelm fit sample_data/linear.csv --like kept.joblib -o south.joblib
    # both together, from their sums and samples
    enrelm merge kept.joblib south.joblib -o both.joblib
    """
    check_outputs(list(options.models), [Output("-o", options.output, "a model")])
    if where.engine == "dask":
        raise UsageError(
            "merge adds sums that are in the files: there are no rows for a cluster to read", "leave out --engine dask"
        )
    from enrelm_cli.commands.updating import update as library
    from enrelm_cli.model import artifact
    from enrelm_cli.show import render

    report, made = library.merge(options.models, engine_of(where, screen))
    artifact.save(made.to_document(), options.output)
    on_stdout = is_stdout(options.output)
    render.render(replace(report, model=options.output), shown.format, screen.on_stderr() if on_stdout else screen)
