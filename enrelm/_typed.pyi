# Made by docs/make_python.py from the settings' fields.
from collections.abc import Sequence

class Parameters:
    variant: str
    updatable: bool
    progress: bool
    weight_variance: float | None
    bias_variance: float | None
    depth: int | None
    activation: str
    kernel_backend: str
    tune: bool
    tune_rows: int
    tune_steps: int
    input_map: str
    target_transform: str
    calendar: bool
    lower: float | None
    upper: float | None
    neurons: int | None
    select: str | None
    metric: str
    max_neurons: int | None
    landmarks: int | str | None
    leaf_rows: int
    local_rows: int
    epsilon: float | None
    tolerance: float
    max_steps: int
    refit: bool
    split: str
    validation_size: float
    folds: int | str | None
    seed: int
    class_weight: str | Sequence[str]
    inputs: str | Sequence[str]
    numeric: str | Sequence[str]
    categorical: str | Sequence[str]
    drop: str | Sequence[str]
    group: str | Sequence[str]
    time: str | None
    weight: str | None
    decimal: str | None
    null: str | Sequence[str]
    only_null: str | Sequence[str]
    date_format: str | Sequence[str]
    missing: str
    threads: int
    def __init__(
        self,
        *,
        variant: str = ...,
        updatable: bool = ...,
        progress: bool = ...,
        weight_variance: float | None = ...,
        bias_variance: float | None = ...,
        depth: int | None = ...,
        activation: str = ...,
        kernel_backend: str = ...,
        tune: bool = ...,
        tune_rows: int = ...,
        tune_steps: int = ...,
        input_map: str = ...,
        target_transform: str = ...,
        calendar: bool = ...,
        lower: float | None = ...,
        upper: float | None = ...,
        neurons: int | None = ...,
        select: str | None = ...,
        metric: str = ...,
        max_neurons: int | None = ...,
        landmarks: int | str | None = ...,
        leaf_rows: int = ...,
        local_rows: int = ...,
        epsilon: float | None = ...,
        tolerance: float = ...,
        max_steps: int = ...,
        refit: bool = ...,
        split: str = ...,
        validation_size: float = ...,
        folds: int | str | None = ...,
        seed: int = ...,
        class_weight: str | Sequence[str] = ...,
        inputs: str | Sequence[str] = ...,
        numeric: str | Sequence[str] = ...,
        categorical: str | Sequence[str] = ...,
        drop: str | Sequence[str] = ...,
        group: str | Sequence[str] = ...,
        time: str | None = ...,
        weight: str | None = ...,
        decimal: str | None = ...,
        null: str | Sequence[str] = ...,
        only_null: str | Sequence[str] = ...,
        date_format: str | Sequence[str] = ...,
        missing: str = ...,
        threads: int = ...,
    ) -> None: ...
