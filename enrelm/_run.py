"""Where a command of Python runs: threads of this process, silent or with a bar; nothing global stays changed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from enrelm._errors import as_python
from enrelm_cli.fold.folds import Engine, LocalEngine, Progress, Silent, limited_blas
from enrelm_cli.settings import EngineSettings
from enrelm_cli.show.screen import ProgressBar, Screen


@contextmanager
def running(where: EngineSettings, progress: bool) -> Iterator[Engine]:
    """The engine, while the block lasts; problems that a user can solve leave it as EnrelmError."""
    shown: Progress = _bar() if progress else Silent()
    with as_python(), ExitStack() as stack:
        if where.engine == "dask":
            from enrelm_cli.fold.connection import dask_engine

            engine = dask_engine(where, shown)
            stack.callback(engine.close)
            yield engine
            return
        if where.threads:
            stack.enter_context(limited_blas(where.threads))
        yield LocalEngine(where.threads, shown)


def _bar() -> ProgressBar:
    """A bar on a terminal; a line for each pass in a notebook or a file, which cannot draw over a line."""
    screen = Screen.of(sys.stdout, sys.stderr)
    return ProgressBar(screen if screen.err.cursor else replace(screen, verbose=True))
