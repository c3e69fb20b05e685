"""What the user asked for, the part on methods: kernel, inputs, networks, and the random ELM beside them."""

from __future__ import annotations

from dataclasses import dataclass, field

from enrelm_cli.fields import KERNEL, METHOD, Settings, check, choice, flag, real, whole

ACTIVATIONS = ("erf", "tanh", "arctan", "algebraic")
SELECTIONS = ("best", "knee", "smallest")
METRICS = ("normalised-rmse", "rmse", "mae", "r2")
ALL_ROWS = -1


@dataclass(frozen=True)
class KernelSettings(Settings):
    """The kernel's parameters; None leaves them to the tuning (kernel variant) or to the paper's (the others)."""

    weight_variance: float | None = real(
        None,
        "Variance of the hidden weights (paper: 1). Default: tuned for kernel.",
        KERNEL,
        above=0.0,
        hint="the paper's is --weight-variance 1",
    )
    bias_variance: float | None = real(
        None,
        "Variance of the hidden biases (paper: 0). Default: tuned for kernel.",
        KERNEL,
        at_least=0.0,
        hint="the paper's is --bias-variance 0",
    )
    depth: int | None = whole(
        None,
        "Hidden layers of the kernel (paper: 1). Default: tuned for kernel.",
        KERNEL,
        at_least=1,
        at_most=20,
        hint="the paper's is --depth 1",
    )
    activation: str = choice("erf", ACTIVATIONS, "erf; algebraic, tanh and arctan need the extra nngp.", KERNEL)
    backend: str = choice(
        "closed-form",
        ("closed-form", "neural-tangents"),
        "Kernel implementation: closed-form, or neural-tangents (extra nngp).",
        KERNEL,
        flags=("--kernel-backend",),
    )
    tune: bool = flag(True, "Tune the kernel on the training rows (kernel and local variants).", KERNEL)
    tune_rows: int = whole(4000, "Maximum number of rows used for tuning.", KERNEL, at_least=20)
    tune_steps: int = whole(800, "Tuning budget, in evaluations.", KERNEL, hint="--no-tune does no tuning")


@dataclass(frozen=True)
class InputSettings(Settings):
    """What tuned variants see of the columns and of the target. The paper's always see plain, standardised inputs."""

    map: str = choice(
        "robust",
        ("robust", "plain"),
        "Inputs of the kernel and local variants: robust, or plain (standardised numbers, one-hot texts).",
        METHOD,
        flags=("--input-map",),
    )
    transform: str = choice(
        "auto",
        ("auto", "none", "log", "yeo-johnson"),
        "Scale of the target (kernel and local variants). auto: by the left-out error in the target's own units.",
        METHOD,
    )
    calendar: bool = flag(True, "Weekday, month, day of year and hour of dates as inputs.", METHOD)
    lower: float | None = real(None, "Lower bound of predictions (kernel and local variants).", METHOD)
    upper: float | None = real(None, "Upper bound of predictions (kernel and local variants).", METHOD)

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            self.lower is None or self.upper is None or self.lower < self.upper,
            f"--lower {self.lower} must lie below --upper {self.upper}",
            "swap them",
        )


@dataclass(frozen=True)
class MethodSettings(Settings):
    """How the network is found."""

    neurons: int | None = whole(
        None,
        "Use this many neurons instead of choosing the number.",
        METHOD,
        at_least=1,
        flags=("--neurons", "-n"),
        only=("fit",),
    )
    select: str | None = choice(  # None: best, but all neurons of the kernel variant unless fewer are clearly better
        None,
        SELECTIONS,
        "best: lowest error; knee: greatest curvature; smallest: fewest neurons within 1 % of the best. "
        "Default: best; for kernel all neurons unless fewer are clearly better.",
        METHOD,
        metavar="HOW",
        only=("fit", "compare"),
    )
    metric: str = choice(
        "normalised-rmse",
        METRICS,
        "Metric for choosing size and variant, and for `fit --fail-above`: normalised-rmse, rmse, mae or r2.",
        METHOD,
    )
    max_neurons: int | None = whole(
        None,
        "Largest network size. Default: 50 per input, at most half of the rows.",
        METHOD,
        at_least=1,
        hint="leave it out for 50 per input, at most half of the rows",
    )
    landmarks: int | None = whole(
        None,
        "Nyström landmarks of the kernel: auto, all, or a number.",
        METHOD,
        at_least=2,
        words={"auto": None, "all": ALL_ROWS},
        metavar="M",
        hint="write --landmarks auto, all, or a number such as 1000",
    )
    leaf_rows: int = whole(
        1000, "Approximate rows in a leaf of the local variant; its cost grows with their square.", METHOD, at_least=2
    )
    local_rows: int = whole(
        1_000_000, "Maximum rows that the leaves of the local variant, and so its model, keep.", METHOD, at_least=20
    )
    epsilon: float | None = real(
        None,
        "Step size of the incremental variant. Default: 1/sqrt(rows).",
        METHOD,
        above=0.0,
        at_most=1.0,
        hint="leave it out for the paper's 1/sqrt(rows)",
    )
    tolerance: float = real(
        1e-5, "Stop the incremental variant when a step improves by less than this.", METHOD, at_least=0.0
    )
    max_steps: int = whole(100_000, "Maximum number of steps of the incremental variant.", METHOD, at_least=1)
    refit: bool = flag(True, "Refit on all rows at the chosen size.", METHOD, only=("fit",))
    kernel: KernelSettings = field(default_factory=KernelSettings)
    inputs: InputSettings = field(default_factory=InputSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            self.neurons is None or self.select is None,
            "--neurons and --select both say how many neurons",
            "leave one of them out",
        )


@dataclass(frozen=True)
class ElmSettings(Settings):
    """The random ELM that the others are compared with."""

    realizations: int = whole(20, "Number of random ELMs to average.", METHOD, at_least=1)
    weight_std: float | None = real(  # None: the paper's 1/sqrt(d)
        None,
        "Standard deviation of the ELM's weights. Default: 1/sqrt(inputs).",
        METHOD,
        above=0.0,
        flags=("--elm-weight-std",),
        hint="leave it out for the paper's 1/sqrt(inputs)",
    )
    seed: int = 1234
