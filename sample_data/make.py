"""Writes the sample tables of this directory: python sample_data/make.py [DIRECTORY].

Everything is seeded, and every number is rounded, so that the same files come out byte for byte. The houses, their
towns and their prices are invented.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import TypeVar

import numpy as np

from enrelm_cli.commands import synthetic

SEED = 1234
HOUSES, NEW_HOUSES = 520, 24

TOWNS = {
    "Alder Bay": 1.00,
    "Brockfield": 0.78,
    "Saint-Rémy": 1.22,
    "Dunmore": 0.66,
    "Eastwick": 0.91,
    "Port Ellis": 1.35,
}
HEATING = {"gas": 0.00, "electric": -0.05, "heat pump": 0.09, "wood": -0.08}
# The code of a planning zone: a number that is no quantity (zone 30 is not twice zone 15).
ZONES = {15: 0.00, 22: 0.18, 30: -0.12, 41: 0.07, 58: -0.20}
HOUSE_COLUMNS = (
    *("house_id", "listed", "town", "zone", "area_m2", "rooms"),
    *("year_built", "garden_m2", "station_km", "heating", "price"),
)

Category = TypeVar("Category", str, int)


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    write_synthetic(directory / "linear.csv", synthetic.generate(4, SEED))
    write_synthetic(directory / "network.csv", synthetic.generate(10, SEED))
    friedman = synthetic.friedman(640, inputs=10, noise=1.0, seed=SEED)
    write_synthetic(directory / "friedman.csv", rows_of(friedman, 0, 600))
    write_without_target(directory / "friedman_new.csv", rows_of(friedman, 600, 640))
    houses = make_houses(HOUSES + NEW_HOUSES)
    write_rows(directory / "houses.csv", HOUSE_COLUMNS, houses[:HOUSES])
    write_rows(directory / "houses_new.csv", HOUSE_COLUMNS[:-1], [house[:-1] for house in houses[HOUSES:]])


def rows_of(table: synthetic.Synthetic, start: int, stop: int) -> synthetic.Synthetic:
    part = slice(start, stop)
    return replace(table, X=table.X[part], y=table.y[part], signal=table.signal[part])


def write_synthetic(path: Path, table: synthetic.Synthetic) -> None:
    with path.open("wb") as stream:
        synthetic.write_csv(table, stream)


def write_without_target(path: Path, table: synthetic.Synthetic) -> None:
    write_rows(path, table.names[:-1], [[f"{cell:.6g}" for cell in row] for row in table.X])


def write_rows(path: Path, names: tuple[str, ...], rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def make_houses(count: int) -> list[list[str]]:
    """Houses for sale: log(price) is a bent function of size, age and distance plus effects of the categories."""
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(1,)))
    return [make_house(number, rng) for number in range(1, count + 1)]


def make_house(number: int, rng: np.random.Generator) -> list[str]:
    # Always the same count of draws in the same order, whatever comes out: one house never shifts the next one's.
    u = rng.random(11)
    z = rng.standard_normal(3)
    town = pick(list(TOWNS), u[0])
    zone = pick(list(ZONES), u[1])
    heating = pick(list(HEATING), u[2] ** 1.6)
    area = round(45.0 + 190.0 * u[3] ** 1.7)
    rooms = max(1, round(area / 27.0 + 0.7 * float(z[0])))
    built = 1895 + int(128.0 * u[4] ** 0.7)
    garden = 0 if u[5] < 0.3 else round(40.0 + 900.0 * u[6] ** 2.5)
    station = round(0.2 + 14.0 * u[7] ** 1.8, 1)
    listed = date(2023, 1, 1) + timedelta(days=int(730 * u[8]))
    months = (listed.year - 2023) * 12 + listed.month
    age = 2025 - built
    log_price = (
        11.3
        + 0.62 * np.log(area / 100.0)
        + 0.03 * rooms
        - 0.011 * min(age, 60)
        + (0.004 * (age - 85) if age > 85 else 0.0)
        + 0.12 * np.sqrt(garden / 400.0)
        - 0.38 * station / (station + 3.0)
        + np.log(TOWNS[town])
        + ZONES[zone]
        + HEATING[heating]
        + 0.004 * months
        + 0.07 * float(z[1])
    )
    price = round(float(np.exp(log_price)) * 3.0 / 500.0) * 500
    return [
        f"H{number:04d}",
        listed.isoformat(),
        town,
        str(zone),
        str(area),
        str(rooms),
        str(built),
        "" if u[9] < 0.06 else str(garden),
        f"{station:.1f}",
        "" if u[10] < 0.03 else heating,
        str(price),
    ]


def pick(values: list[Category], u: float) -> Category:
    return values[int(len(values) * u)]


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
