"""The scripts in examples/ do what they say."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.shell import ROOT, Shell

# Whole jobs in processes of their own: a minute together, and nothing that the tests of the commands do not cover.
pytestmark = pytest.mark.slow

QUICK = "--variant approximate"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def table(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_model_for_each_group(shell: Shell) -> None:
    shell.succeed(f"examples/fit_per_group.sh sample_data/houses.csv town price models --drop house_id {QUICK}")
    towns = {row["town"] for row in table(shell.folder / "sample_data/houses.csv")}
    summary = table(shell.folder / "models/summary.csv")
    assert len(summary) == len(towns) == 6
    assert sum(int(row["rows"]) for row in summary) == 520
    for row in summary:
        assert (shell.folder / row["model"]).exists()
    predicted = shell.succeed("enrelm predict models/Dunmore.joblib models/Dunmore.csv 2>/dev/null")
    assert len(predicted.splitlines()) == 1 + len(table(shell.folder / "models/Dunmore.csv"))


def test_a_group_that_cannot_be_fitted_does_not_stop_the_others(shell: Shell) -> None:
    lines = ["site,x,y", "small,1,2", *(f"large,{k % 17},{k % 17 * 3 + k % 5}" for k in range(60))]
    (shell.folder / "sites.csv").write_text("\n".join(lines) + "\n")
    done = shell.run(f"examples/fit_per_group.sh sites.csv site y models {QUICK}")
    assert done.returncode == 1
    assert "no model for models/small.csv" in done.stderr
    assert [row["data"] for row in table(shell.folder / "models/summary.csv")] == ["models/large.csv"]


def test_groups_need_their_column_and_a_table_that_awk_can_split(shell: Shell) -> None:
    assert shell.run("examples/fit_per_group.sh sample_data/houses.csv county price models").returncode == 2
    (shell.folder / "quoted.csv").write_text('g,y\n"a,b",1\n')
    assert shell.run("examples/fit_per_group.sh quoted.csv g y models").returncode == 2


def test_the_nightly_refit_keeps_the_old_model_when_the_gate_closes(shell: Shell) -> None:
    model, before = shell.folder / "m.joblib", shell.folder / "m.joblib.previous"
    words = f"examples/nightly_refit.sh sample_data/linear.csv y m.joblib {{}} {QUICK}"
    assert "replaced m.joblib" in shell.succeed(words.format("0.9 --neurons 3"))
    first = model.read_bytes()
    closed = shell.run(words.format("0.0001"))
    assert closed.returncode == 5
    assert "kept the old m.joblib" in closed.stdout
    assert model.read_bytes() == first
    assert not before.exists()
    shell.succeed(words.format("0.9"))
    assert model.read_bytes() != first
    assert before.read_bytes() == first
    failed = shell.run("examples/nightly_refit.sh nothing.csv y m.joblib 0.9")
    assert failed.returncode == 3
    assert before.read_bytes() == first


def test_predictions_of_a_drifted_table_are_kept_apart(shell: Shell) -> None:
    shell.succeed(f"enrelm fit sample_data/linear.csv -t y -o m.joblib {QUICK} -q")
    output, apart = shell.folder / "today.csv", shell.folder / "today.csv.drifted"
    words = "examples/guarded_predict.sh m.joblib {} today.csv 0.2"
    assert "replaced today.csv" in shell.succeed(words.format("sample_data/linear.csv"))
    good = output.read_bytes()
    lines = (shell.folder / "sample_data/linear.csv").read_text().splitlines()
    moved = [f"{float(line.split(',', 1)[0]) + 2.0},{line.split(',', 1)[1]}" for line in lines[1:]]
    (shell.folder / "moved.csv").write_text("\n".join([lines[0], *moved]) + "\n")
    closed = shell.run(words.format("moved.csv"))
    assert closed.returncode == 6
    assert lines[0].split(",")[0] in closed.stderr
    assert output.read_bytes() == good
    assert len(apart.read_text().splitlines()) == len(lines)
    report = json.loads((shell.folder / "today.csv.report.json").read_text())
    assert len(report["drift"]["alarms"]) == 1
    assert shell.run(words.format("nothing.csv")).returncode == 3
    assert output.read_bytes() == good
    shell.succeed(words.format("sample_data/linear.csv"))
    assert not apart.exists()


@pytest.mark.skipif(shutil.which("flock") is None, reason="flock is not installed")
def test_two_refits_never_run_at_once(shell: Shell) -> None:
    done = shell.run(f"flock m.joblib.lock examples/nightly_refit.sh sample_data/linear.csv y m.joblib 0.9 {QUICK}")
    assert done.returncode == 1
    assert "another refit" in done.stdout


def test_a_sweep_has_a_line_for_each_file_in_their_order(shell: Shell) -> None:
    shutil.copy(shell.folder / "sample_data/linear.csv", shell.folder / "a table.csv")
    files = ["sample_data/network.csv", "a table.csv", "sample_data/linear.csv"]
    listed = " ".join(f"'{file}'" for file in files)
    shell.succeed(f"JOBS=2 OPTIONS='--target y {QUICK}' examples/sweep.sh results.csv {listed}")
    rows = table(shell.folder / "results.csv")
    assert [row["data"] for row in rows] == files
    assert rows[1]["validation_error"] == rows[2]["validation_error"]
    assert shell.run(f"OPTIONS='--target y {QUICK}' examples/sweep.sh results.csv missing.csv").returncode != 0


def test_the_pipeline_fits_only_when_the_data_has_changed(shell: Shell) -> None:
    make = f"make -f examples/pipeline.mk DATA=sample_data/linear.csv NEW=new.csv FIT='{QUICK}'"
    shutil.copy(shell.folder / "sample_data/network.csv", shell.folder / "new.csv")
    first = shell.succeed(make)
    assert "enrelm fit" in first
    assert (shell.folder / "out/info.json").exists()
    assert "enrelm" not in shell.succeed(make).replace("pipeline", "")
    later = os.stat(shell.folder / "out/predictions.csv").st_mtime + 10
    os.utime(shell.folder / "new.csv", (later, later))
    again = shell.succeed(make)
    assert "enrelm fit" not in again
    assert "enrelm predict" in again
    os.utime(shell.folder / "sample_data/linear.csv", (later, later))
    assert "enrelm fit" in shell.succeed(make)


def test_the_line_of_cron_runs_as_cron_would_run_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path, rows=60)
    jobs = shell.folder / "prices"
    jobs.mkdir()
    shutil.copy(shell.folder / "examples/nightly_refit.sh", jobs)
    shutil.copy(shell.folder / "sample_data/houses.csv", jobs)
    lines = (ROOT / "examples/crontab.example").read_text().splitlines()
    assert any(line.startswith("PATH=") for line in lines)
    [line] = [line for line in lines if line and not line.startswith("#") and "=" not in line.split()[0]]
    assert "%" not in line
    minute, hour, *_, command = line.split(maxsplit=5)
    assert (minute, hour) == ("15", "3")
    environment = {name: shell.environment[name] for name in ("HOME", "PATH", "PYTHONPATH")}
    done = subprocess.run(["/bin/sh", "-c", command], env=environment, cwd="/", capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")
    assert "price.joblib" in (jobs / "refit.log").read_text()
    assert done.returncode in (0, 5)
    assert (jobs / "price.joblib").exists() == (done.returncode == 0)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_has_nothing_to_say() -> None:
    scripts = sorted(str(path) for path in (ROOT / "examples").glob("*.sh"))
    done = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True)
    assert done.stdout == ""
    assert len(scripts) == 3


def test_a_nightly_update_has_a_gate_and_a_drift_alarm(shell: Shell) -> None:
    shell.succeed("enrelm fit sample_data/network.csv -t y --updatable --no-tune -o m.joblib")
    model = shell.folder / "m.joblib"
    first = model.read_bytes()
    for bars in ("1.0001 9", "9 0.0001"):
        closed = shell.run(f"examples/nightly_update.sh m.joblib sample_data/linear.csv {bars}")
        assert closed.returncode == 5
        assert "kept m.joblib" in closed.stdout
        assert model.read_bytes() == first
    assert "updated m.joblib" in shell.succeed("examples/nightly_update.sh m.joblib sample_data/linear.csv 9 9")
    assert model.read_bytes() != first


def test_shards_are_put_together(shell: Shell) -> None:
    shell.succeed("OPTIONS=--no-tune examples/federated.sh sample_data/network.csv y m.joblib sample_data/linear.csv")
    assert "600 rows" in shell.succeed("enrelm info m.joblib")
