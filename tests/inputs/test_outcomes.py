"""What is said of each column."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.cli_runner import succeed


def test_fit_and_info_say_what_became_of_each_column(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["id,when,rooms,kind,same,size,blank,y"]
    for i in range(200):
        size, rooms = rng.standard_normal(), int(rng.integers(1, 6))
        when = np.datetime64("2020-01-01") + np.timedelta64(int(rng.integers(0, 700)), "D")
        cells = [
            f"r{i}",
            when,
            rooms,
            rng.choice(["a", "b", "c"]),
            f"{size:.6f}",
            f"{size:.6f}",
            "",
            f"{size + rooms:.4f}",
        ]
        lines.append(",".join(map(str, cells)))
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    fitted = succeed(
        "fit", tmp_path / "t.csv", "-t", "y", "--variant", "kernel", "-o", tmp_path / "m.joblib", "-f", "json"
    )
    columns = {one["name"]: one for one in json.loads(fitted.stdout)["columns"]}
    assert columns["id"]["details"].startswith("left out: 200 different texts in 200 rows")
    assert columns["blank"]["details"] == "left out: no value"
    assert columns["kind"]["details"] == "3 levels: a, b, c; indicators"
    assert columns["rooms"]["details"] == "squashed; normal score; also as categories"
    assert columns["when"]["details"].startswith("days, weekday, month, day of year; squashed")
    assert sorted(columns[name]["inputs"] for name in ("same", "size")) == [0, 2]
    assert sum(one["inputs"] for one in columns.values()) == len(json.loads(fitted.stdout)["inputs"])
    shown = succeed("info", tmp_path / "m.joblib").stdout
    assert "left out: no value" in " ".join(shown.split())
    words = ("--variant", "kernel", "--tune-steps", "1", "-v")
    assert "left out: no value" in " ".join(succeed("fit", tmp_path / "t.csv", "-t", "y", *words).stdout.split())
