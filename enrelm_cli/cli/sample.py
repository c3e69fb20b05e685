"""enrelm sample: a table to try things on."""

from __future__ import annotations

from dataclasses import dataclass

from enrelm_cli.cli import startup
from enrelm_cli.cli.program import command
from enrelm_cli.errors import UsageError
from enrelm_cli.fields import DATA, OUTPUT, Settings, argument, text, whole
from enrelm_cli.files import Output, check_outputs
from enrelm_cli.show.screen import Screen

_SYNTHETIC = 48
_SEED = 1234


@dataclass(frozen=True)
class _SampleName:
    """A table that comes with enrelm, or the number of one of the paper's."""

    metavar: str = "TABLE"

    def parse(self, text: str) -> str:
        return text

    def check(self, value: str) -> None:
        from enrelm_cli.table.samples import TABLES

        if value not in TABLES and value not in map(str, range(1, _SYNTHETIC + 1)):
            raise ValueError(f"is neither {', '.join(TABLES)} nor a number from 1 to {_SYNTHETIC}")


@dataclass(frozen=True)
class SampleOptions(Settings):
    table: str = argument(
        "table",
        f"friedman, houses, linear, network, friedman_new, houses_new; 1 to {_SYNTHETIC}: one of the paper's datasets.",
        "TABLE",
        kind=_SampleName(),
    )
    seed: int | None = whole(None, "Random seed of the paper's datasets. Default: 1234.", DATA, at_most=2**32 - 1)
    rows: int | None = whole(None, "Number of rows instead of all.", DATA, at_least=1)
    output: str = text("-", "Write to this file instead of stdout.", OUTPUT, "FILE", flags=("--output", "-o"))


@command
def sample(options: SampleOptions, screen: Screen) -> None:
    """Write a sample table as CSV: one that comes with enrelm, or one of the paper's 48 synthetic datasets.

    # invented houses, with text, dates and missing cells
    enrelm sample houses -o houses.csv
    # the paper's dataset 10, a shallow network, with any number of rows
    enrelm sample 10 --rows 100000 -o network.csv
    """
    check_outputs([], [Output("-o", options.output, "a table")])
    from enrelm_cli.commands import synthetic
    from enrelm_cli.files import atomic_writer
    from enrelm_cli.table import samples

    if options.table in samples.TABLES:
        if options.seed is not None:
            raise UsageError(f"--seed is not for {options.table}, which is always the same", "leave out --seed")
        lines = samples.table(options.table, options.rows)
        with atomic_writer(options.output) as stream:
            stream.writelines(lines)
        return
    startup.import_pyarrow()
    seed = _SEED if options.seed is None else options.seed
    with atomic_writer(options.output) as stream:
        for index, part in enumerate(synthetic.chunks(int(options.table), seed, options.rows)):
            synthetic.write_csv(part, stream, header=index == 0)
