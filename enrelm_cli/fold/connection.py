"""A Dask cluster to fold on: the scheduler that the user named, or worker processes on this machine."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import re
import subprocess
import sys
import tempfile
import warnings
from contextlib import ExitStack
from typing import Any

import numpy as np

from enrelm_cli import __version__
from enrelm_cli.errors import UsageError
from enrelm_cli.extras import install_command
from enrelm_cli.fold.cluster import DaskEngine
from enrelm_cli.fold.folds import Progress
from enrelm_cli.fold.resources import cores
from enrelm_cli.settings import EngineSettings

# Seconds to wait for a scheduler, and for a first worker.
_ANSWER, _FIRST_WORKER = 10, 30
_TLS_HINT = "name the certificates in Dask's configuration: distributed.comm.tls.ca-file, .client.cert and .client.key"

_ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:[^/:\s]+|\[[0-9a-fA-F:.%]+\]):\d+")


def dask_engine(where: EngineSettings, progress: Progress) -> DaskEngine:
    """Connect to the scheduler that the user named, or start worker processes on this machine."""
    try:
        import dask
        import distributed
    except ImportError:
        raise UsageError("--engine dask needs Dask, which is not installed", install_command("dask")) from None
    _quiet(dask, distributed)
    with ExitStack() as resources:
        if where.scheduler is None:
            address: Any = _local_cluster(where.threads or cores(), resources)
            label = "this machine"
        else:
            address = label = where.scheduler
        client = _client(address, label, resources)
        _check_versions(client)
        engine = DaskEngine(client, label, progress, resources.pop_all())
    _close_at_exit(engine)
    return engine


def _quiet(dask: Any, distributed: Any) -> None:
    """Dask's own messages are not for the user of this command; what goes wrong is said in our words."""
    for name in ("distributed", "distributed.client", "distributed.gc", "tornado.application", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    dask.config.set(
        {
            "distributed.admin.large-graph-warning-threshold": "1TB",
            # The scheduler and the workers of a local cluster offer no web pages.
            "distributed.scheduler.http.routes": [],
            "distributed.worker.http.routes": [],
        }
    )


def _local_cluster(workers: int, resources: ExitStack) -> Any:
    """A scheduler in this process, which listens to this machine only, and worker processes."""
    import dask
    from distributed import LocalCluster

    folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="enrelm-dask-", ignore_cleanup_errors=True))
    dask.config.set({"temporary-directory": folder})
    cluster = LocalCluster(
        n_workers=0,
        threads_per_worker=1,
        host="127.0.0.1",
        protocol="tcp",
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        silence_logs=logging.CRITICAL + 1,
    )
    resources.callback(cluster.close, timeout=10)
    for _ in range(workers):
        resources.callback(_end, _start_worker(cluster.scheduler_address, folder))
    return cluster


def _start_worker(scheduler: str, folder: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny", "--nthreads", "1"]
    command += ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    command += ["--memory-limit", "0", "--local-directory", folder, "--death-timeout", "60"]
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        command,
        # Not the user's folder: Python would import what lies there.
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl-C is sent to every process of the terminal's session: it is for this one to end the workers.
        start_new_session=True,
    )


def _end(worker: subprocess.Popen[bytes]) -> None:
    # It holds nothing that is still needed, and its folder is removed here.
    worker.kill()
    worker.wait()


def _client(address: Any, label: str, resources: ExitStack) -> Any:
    from distributed import Client
    from distributed import TimeoutError as TimedOut

    if isinstance(address, str):
        _knock(address)
    try:
        with warnings.catch_warnings():
            # Versions that differ are our own check.
            warnings.simplefilter("ignore")
            client = Client(address, timeout=_ANSWER, set_as_default=False, name="enrelm")
    except (OSError, TimedOut):
        raise _no_answer(label) from None
    resources.callback(client.close, timeout=10)
    try:
        client.wait_for_workers(1, timeout=_FIRST_WORKER)
    except TimedOut:
        raise UsageError(
            f"the Dask scheduler at {label} has no workers (waited {_FIRST_WORKER} s)",
            f"start some with `dask worker {label}` on each machine",
        ) from None
    return client


def _knock(address: str) -> None:
    """A scheduler answers there. Asked without a Client, which waits for ever on a port that accepts and says nothing,
    and for 20 s more when it is dropped half made."""
    if not _ADDRESS.fullmatch(address):
        raise UsageError(f"--scheduler {address}: not an address", "write it as --scheduler tcp://host:8786")
    try:
        asyncio.run(asyncio.wait_for(_identity(address), _ANSWER))
    except (OSError, asyncio.TimeoutError):
        raise _no_answer(address) from None
    except (TypeError, ValueError, RuntimeError, ImportError) as error:
        # What Dask says of a protocol that is not installed or not configured.
        hint = _TLS_HINT if address.startswith("tls://") else "use tcp://, or set up that protocol in Dask"
        raise UsageError(f"--scheduler {address}: Dask cannot connect there ({error})", hint) from None


async def _identity(address: str) -> None:
    from distributed.comm import connect
    from distributed.security import Security

    comm = await connect(address, timeout=_ANSWER, **Security().get_connection_args("client"))
    try:
        await comm.write({"op": "identity", "reply": True})
        await comm.read()
    finally:
        comm.abort()


def _no_answer(label: str) -> UsageError:
    return UsageError(
        f"no Dask scheduler answers at {label} (waited {_ANSWER} s)",
        "start one with `dask scheduler --port 8786`, and check the address and the firewall",
    )


def _versions() -> dict[str, str]:
    """What has to be the same everywhere."""
    return {
        "enrelm": __version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__.split(".")[0],
    }


def _check_versions(client: Any) -> None:
    mine = _versions()
    everywhere: dict[str, Any] = dict(client.run(_versions, on_error="return"))
    try:
        everywhere["the scheduler"] = client.run_on_scheduler(_versions)
    except Exception as error:
        everywhere["the scheduler"] = error
    for place, theirs in sorted(everywhere.items()):
        name = place if place.startswith("the ") else f"worker {place}"
        if isinstance(theirs, BaseException):
            raise UsageError(
                f"{name} cannot import enrelm ({theirs})",
                f"install enrelm {__version__} there, with its extra dask",
            )
        for package, version in mine.items():
            if theirs.get(package) != version:
                raise UsageError(
                    f"{name} has {package} {theirs.get(package)}, this machine has {package} {version}",
                    f"install enrelm {__version__} with its extra dask and the same Python packages everywhere",
                )


def _close_at_exit(engine: DaskEngine) -> None:
    import atexit

    # Registered after Dask's own: it runs before them.
    atexit.register(engine.close)
