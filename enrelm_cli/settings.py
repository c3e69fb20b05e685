"""What the user asked for, checked once. The library sees these, never command-line options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from enrelm_cli.errors import UsageError

VARIANTS = ("approximate", "incremental", "kernel")
ACTIVATIONS = ("erf", "tanh", "arctan", "algebraic")
SELECTIONS = ("best", "knee", "smallest")
ALL_ROWS = -1

Selection = Literal["best", "knee", "smallest"]


def _check(good: bool, problem: str, hint: str) -> None:
    if not good:
        raise UsageError(problem, hint)


def _one_of(value: str, known: tuple[str, ...], option: str) -> None:
    _check(
        value in known, f"{option} '{value}' is not one of {', '.join(known)}", f"the default is {option} {known[0]}"
    )


@dataclass(frozen=True)
class SplitSettings:
    """Which rows choose the number of neurons."""

    kind: str = "hash"
    validation_size: float = 0.25
    seed: int = 1234

    def __post_init__(self) -> None:
        _one_of(self.kind, ("hash", "shuffle"), "--split")
        _check(
            0.0 < self.validation_size < 1.0,
            f"--validation-size {self.validation_size} must lie between 0 and 1",
            "the default, --validation-size 0.25, keeps a quarter of the rows",
        )
        _check(0 <= self.seed < 2**32, f"--seed {self.seed} must lie between 0 and 4294967295", "try --seed 1234")


@dataclass(frozen=True)
class KernelSettings:
    """The kernel's parameters; None leaves them to the tuning (kernel variant) or to the paper's (the others)."""

    weight_variance: float | None = None
    bias_variance: float | None = None
    depth: int | None = None
    activation: str = "erf"
    backend: str = "closed-form"
    tune: bool = True
    tune_rows: int = 4000
    tune_steps: int = 800

    def __post_init__(self) -> None:
        _one_of(self.activation, ACTIVATIONS, "--activation")
        _one_of(self.backend, ("closed-form", "neural-tangents"), "--kernel-backend")
        _check(
            self.weight_variance is None or 0.0 < self.weight_variance < float("inf"),
            f"--weight-variance {self.weight_variance} must be above 0",
            "the paper's is --weight-variance 1",
        )
        _check(
            self.bias_variance is None or 0.0 <= self.bias_variance < float("inf"),
            f"--bias-variance {self.bias_variance} must not be below 0",
            "the paper's is --bias-variance 0",
        )
        _check(
            self.depth is None or 1 <= self.depth <= 20,
            f"--depth {self.depth} must lie between 1 and 20",
            "the paper's is --depth 1",
        )
        _check(self.tune_rows >= 20, f"--tune-rows {self.tune_rows} is too few", "give at least --tune-rows 20")
        _check(self.tune_steps >= 0, f"--tune-steps {self.tune_steps} must not be below 0", "--no-tune does no tuning")


@dataclass(frozen=True)
class MethodSettings:
    """How the network is found."""

    neurons: int | None = None
    select: str | None = None  # None: best, but all neurons of the kernel variant unless fewer are clearly better
    max_neurons: int | None = None
    landmarks: int | None = None  # None: auto; ALL_ROWS: every row
    epsilon: float | None = None
    tolerance: float = 1e-5
    max_steps: int = 100_000
    refit: bool = True
    kernel: KernelSettings = field(default_factory=KernelSettings)

    def __post_init__(self) -> None:
        if self.select is not None:
            _one_of(self.select, SELECTIONS, "--select")
        _check(
            self.neurons is None or self.neurons >= 1, f"--neurons {self.neurons} must be at least 1", "leave it out"
        )
        _check(
            self.neurons is None or self.select is None,
            "--neurons and --select both say how many neurons",
            "leave one of them out",
        )
        _check(
            self.max_neurons is None or self.max_neurons >= 1,
            f"--max-neurons {self.max_neurons} must be at least 1",
            "leave it out for min(50 inputs, half of the rows)",
        )
        _check(
            self.landmarks is None or self.landmarks == ALL_ROWS or self.landmarks >= 2,
            f"--landmarks {self.landmarks} must be at least 2",
            "write --landmarks auto, all, or a number such as 1000",
        )
        _check(
            self.epsilon is None or 0.0 < self.epsilon <= 1.0,
            f"--epsilon {self.epsilon} must lie above 0 and at most at 1",
            "leave it out for the paper's 1/sqrt(rows)",
        )
        _check(self.tolerance >= 0.0, f"--tolerance {self.tolerance} must not be below 0", "the paper's is 1e-5")
        _check(self.max_steps >= 1, f"--max-steps {self.max_steps} must be at least 1", "the default is 100000")


@dataclass(frozen=True)
class ElmSettings:
    """The random ELM that the others are compared with."""

    realizations: int = 20
    weight_std: float | None = None  # None: the paper's 1/sqrt(d)
    seed: int = 1234

    def __post_init__(self) -> None:
        _check(self.realizations >= 1, f"--realizations {self.realizations} must be at least 1", "the paper takes 20")
        _check(
            self.weight_std is None or 0.0 < self.weight_std < float("inf"),
            f"--elm-weight-std {self.weight_std} must be above 0",
            "leave it out for the paper's 1/sqrt(inputs)",
        )


@dataclass(frozen=True)
class EngineSettings:
    """Where the fold runs."""

    engine: str = "local"
    threads: int = 0
    memory: int | None = None  # bytes; None: what is free
    scheduler: str | None = None

    def __post_init__(self) -> None:
        _one_of(self.engine, ("local", "dask"), "--engine")
        _check(self.threads >= 0, f"--threads {self.threads} must not be below 0", "0 takes every core")
        _check(
            self.scheduler is None or self.engine == "dask",
            "--scheduler needs --engine dask",
            "add --engine dask, or leave --scheduler out",
        )
