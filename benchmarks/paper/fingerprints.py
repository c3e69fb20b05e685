"""Fingerprints of every column of the eight real datasets: what the checker compares a file with.

One line a column: its values in order, its values sorted (both hashed), and the smallest, largest and mean number.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fingerprint:
    """What is known of a column."""

    ordered: str  # hash of its values in the order of the rows
    unordered: str  # hash of its values sorted
    rows: int
    span: tuple[float, float, float] | None  # smallest, largest, mean; None for texts


_ROWS = {
    "abalone": 4177,
    "auto_mpg": 392,
    "cal_housing": 20640,
    "delta_ailerons": 7129,
    "la_ozone": 330,
    "machine_cpu": 209,
    "prostate": 97,
    "servo": 167,
}
_COLUMNS = """
abalone
  Sex 6a10e4ae8768a729 82acabd122f6243e text
  Length 3537324b82f9cfa0 2f2b52b61d34163e 0.075 0.815 0.5239921
  Diameter ea594c5adce29281 05609de726d0210c 0.055 0.65 0.407881254
  Height f103d3bad3367c4d 27cfda1e2b326f6d 0 1.13 0.139516399
  WholeWeight 32ce553b6f561c43 cce23698f99fc863 0.002 2.8255 0.828742159
  ShuckedWeight 3dc6924aaf769238 79fc8ddbbf996e34 0.001 1.488 0.359367489
  VisceraWeight cf29ef74240f215c 658c9e8f3ebabba9 0.0005 0.76 0.180593608
  ShellWeight c7bb8fa51bb1d9d8 3c1cc607c3e6e10f 0.0015 1.005 0.238830859
  Rings e2e47e674b03363e 4e8f2b84ccf8010b 1 29 9.93368446
auto_mpg
  cylinders 459aafca6babf150 08abc34bcb49647c 3 8 5.47193878
  displacement b46c8675f4e78c21 ce8390b56de36416 68 455 194.41199
  horsepower 5d264e10f9b36438 b20d0c91a007ee37 46 230 104.469388
  weight c76ee1a9b8b39086 a875257dbca72464 1613 5140 2977.58418
  acceleration ad080ac540766853 78f786cdfa955101 8 24.8 15.5413265
  model_year ea7c8faa43b5d4f9 ea7c8faa43b5d4f9 70 82 75.9795918
  origin 43a2ff12df6b47a5 8f4afa7218fbc0eb 1 3 1.57653061
  mpg 8bea33ca26a31741 479b3ccb303107de 9 46.6 23.4459184
cal_housing
  longitude 4400df852527afa1 05a476bd3ccbf299 -124.35 -114.31 -119.569704
  latitude e3fdce3af2cc8232 17a674d3a2dc56e2 32.54 41.95 35.6318614
  housingMedianAge 38fa1a064892f281 9dab1e1ee4a00fa4 1 52 28.6394864
  totalRooms d49d71ef3350505a 391cd9ee31447528 2 39320 2635.76308
  totalBedrooms 676c0940867e6550 c363df256fe9e703 1 6445 537.898014
  population 0adb654dafdf7fa4 f02384dff3772533 3 35682 1425.47674
  households 770c3c84db06db71 579e66ca53dd0da3 1 6082 499.53968
  medianIncome 0e0d7ba06ccffc44 9bbc4f79c2ba656e 0.4999 15.0001 3.870671
  medianHouseValue e59ea2a1f354a331 d7ab81fc2f9333db 14999 500001 206855.817
delta_ailerons
  RollRate 83429b885481f37b 744307fc0123b6ef -0.0208 0.0177 0.000468831533
  PitchRate 27cb572c95a47446 d766911666b8bfb1 -0.0077 0.0108 0.00102178426
  currPitch 11deb27d5338645b 7e68c9395fd0040f -0.006 0.041 0.0107545238
  currRoll 5440b7656bf0435f 700592a04f03640f -0.05 0.051 0.00263445083
  diffRollRate c3632f975478f769 9d8594c62292bd86 -0.0015 0.00082 -1.70122037e-05
  Sa 6a7f70d59294716c ff33e73593be0e23 -0.0021 0.0022 -7.06971525e-06
la_ozone
  vh 352f52e807cf1ce9 8488f281ca07837a 5320 5950 5750.48485
  wind 85f4c161748f2c99 c0f1b14db5cc9ba3 0 21 4.89090909
  humidity 43644d04c6be9693 fa2c34c57efc629f 19 93 58.130303
  temp 7d597db570de8e08 da12f75da55221bb 25 93 61.7545455
  ibh 18620917be7399f4 540f81c0c1e0cdfc 111 5000 2572.87576
  dpg f37c7a8f6f4fc14d c008e6a225fe3f38 -69 107 17.369697
  ibt 2e84ad7a5b5809a8 49eb1e352954df41 -25 332 161.160606
  vis b80e13606da64351 c8302d3da57e7977 0 350 124.533333
  doy 9e72acf1aa4ca728 6ef6852c3093089c 3 365 181.727273
  ozone 57ec35342eb5f067 5540b4ec5ed586ee 1 38 11.7757576
machine_cpu
  MYCT 7cdf2ce75ea2d5c7 dcbb46b3bf634a46 17 1500 203.822967
  MMIN 5f6ee40a46a01d17 4ac5ffebf14b4bb9 64 32000 2867.98086
  MMAX 3d8434ff8bda5bce 5b31537f75f29a16 64 64000 11796.1531
  CACH bde87c40ef379d46 57610fe65b2ac763 0 256 25.2057416
  CHMIN 4dbe7f5e436d94ac 871b229198e6dd8d 0 52 4.69856459
  CHMAX 8ff5c68fad0f8f76 e6aff041df030f25 0 176 18.2679426
  PRP f28d798a36a768e8 81ea382b21247ee5 6 1150 105.62201
prostate
  lcavol df935f9c12001c5a 2bbaa6fa9300a15f -1.34707365 3.82100361 1.35000958
  lweight c46b4c798bb683ce 29914a6c36b7ce4f 2.374906 4.780383 3.62894266
  age b29bb3af63d66374 3744c4d0ea1ff525 41 79 63.8659794
  lbph 61ff3c66a17d5420 9795974d83c16eaa -1.38629436 2.32630162 0.100355606
  svi 8d3cfab3dcb4c06d 6fdc7621efb15446 0 1 0.216494845
  lcp 29cc7768942cb8df c55983fb0f0fa8a7 -1.38629436 2.90416508 -0.179365577
  gleason 0841fc3ad7b45761 f45fdddf203cf35f 6 9 6.75257732
  pgg45 5d317f0aacb42e29 35541c123ac970e7 0 100 24.3814433
  lpsa 516c6c2e7d1821a6 8cbe82230e80364b -0.4307829 5.5829322 2.47838688
servo
  motor ead1dcae9bb1de4c aa5d68149117b375 text
  screw 854c8faa8ef12350 dbe4a23dc7df301c text
  pgain bb81f721226f6b5f 94a7b81b41b25f82 3 6 4.15568862
  vgain 13dbb1328572227c 7f5209e54f70aafb 1 5 2.53892216
  class eade240c39c293ab 9b22e6e69bab37a2 0.13124992 7.1001077 1.38970839
"""


def _read() -> dict[str, dict[str, Fingerprint]]:
    tables: dict[str, dict[str, Fingerprint]] = {}
    name = ""
    for line in _COLUMNS.strip().splitlines():
        if not line.startswith(" "):
            name = line
            tables[name] = {}
            continue
        column, ordered, unordered, *span = line.split()
        numbers = None if span == ["text"] else (float(span[0]), float(span[1]), float(span[2]))
        tables[name][column] = Fingerprint(ordered, unordered, _ROWS[name], numbers)
    return tables


FINGERPRINTS = _read()
