"""MovieLens 100K: 100,000 ratings of 1,682 films by 943 people, 1997 to 1998.

The files are in the wheel of RecBole, from where they are taken; nothing of RecBole is installed or
run. A click is a rating of 4 or more. The first 80% of the ratings in time are for training.
"""

import hashlib
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

WHEEL = "recbole-1.2.1-py3-none-any.whl"
REQUIREMENT = "recbole==1.2.1"
DIGEST = "9c9948202011f37eb0a7c6768129313f00d6403ad221ec940d5e2d5d5f33a407"
INSIDE = "recbole/dataset_example/ml-100k/ml-100k"
CLICK_RATING = 4
TRAINING_SHARE = 0.8
MOST_GENRES = 6
CATEGORICAL = (
    "user_id",
    "item_id",
    "age_group",
    "gender",
    "occupation",
    "release_year",
    "weekday",
    "hour",
)

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class MovieLens:
    """Columns of features and clicks (0 or 1), a row per rating; the held-out rows are the later
    ones.

    Categorical columns hold ids, 0 for what training has not seen; `vocabularies` has how many ids
    each has. `genres` holds up to six ids a row, 0 where there are fewer.
    """

    training: Columns
    training_clicks: NDArray[np.float32]
    held_out: Columns
    held_out_clicks: NDArray[np.float32]
    vocabularies: dict[str, int]


def download(folder: Path) -> Path:
    """The wheel in `folder`, fetched by pip if need be. Raises ValueError if it is another."""
    path = folder / WHEEL
    if not path.exists():
        command = ["download", "--quiet", "--no-deps", "--dest", str(folder), REQUIREMENT]
        subprocess.run([sys.executable, "-m", "pip", *command], check=True)
    if hashlib.sha256(path.read_bytes()).hexdigest() != DIGEST:
        raise ValueError(f"{path} is not the file that it should be: remove it and try again")
    return path


def load(folder: Path) -> MovieLens:
    """Downloads the ratings to `folder` and makes features of them."""
    ratings = read_ratings(download(folder))
    count = int(len(ratings) * TRAINING_SHARE)
    columns, vocabularies = features(ratings, count)
    clicks = (ratings["rating"] >= CLICK_RATING).to_numpy(np.float32)
    return MovieLens(
        {name: column[:count] for name, column in columns.items()},
        clicks[:count],
        {name: column[count:] for name, column in columns.items()},
        clicks[count:],
        vocabularies,
    )


def read_ratings(wheel: Path) -> pandas.DataFrame:
    """Ratings joined with what is known of the person and the film, in the order of time."""
    with zipfile.ZipFile(wheel) as archive:
        tables = {
            kind: pandas.read_csv(BytesIO(archive.read(f"{INSIDE}.{kind}")), sep="\t", dtype=str)
            for kind in ("inter", "user", "item")
        }
    for table in tables.values():
        # A column's name carries its kind: `user_id:token`.
        table.columns = [name.partition(":")[0] for name in table.columns]
    ratings = tables["inter"].merge(tables["user"], on="user_id")
    ratings = ratings.merge(tables["item"], on="item_id")
    for name in ("rating", "timestamp", "age"):
        ratings[name] = pandas.to_numeric(ratings[name])
    return ratings.sort_values("timestamp", kind="stable").reset_index(drop=True)


def features(ratings: pandas.DataFrame, training: int) -> tuple[Columns, dict[str, int]]:
    """Columns of features, and the number of ids of each categorical one."""
    ratings["age_group"] = (ratings["age"] // 5).astype(str)
    ratings["weekday"] = (ratings["timestamp"] // 86_400 % 7).astype(str)
    ratings["hour"] = (ratings["timestamp"] // 3_600 % 24).astype(str)
    columns: Columns = {}
    vocabularies: dict[str, int] = {}
    for name in CATEGORICAL:
        columns[name], vocabularies[name] = encode(ratings[name].fillna(""), training)
    columns["genres"], vocabularies["genres"] = encode_genres(ratings["class"].fillna(""))
    for name in ("user_id", "item_id"):
        share, count = clicks_so_far(ratings, name)
        columns[f"{name}_clicks"] = share
        columns[f"{name}_ratings"] = count
    return columns, vocabularies


def encode(values: "pandas.Series[str]", training: int) -> tuple[NDArray[np.int64], int]:
    """Ids from 1 for the values among the first `training` rows, 0 for others; and how many."""
    known = {value: number for number, value in enumerate(values[:training].unique(), start=1)}
    return values.map(known).fillna(0).to_numpy(np.int64), len(known) + 1


def encode_genres(values: "pandas.Series[str]") -> tuple[NDArray[np.int64], int]:
    """[rows, 6] ids of a film's genres, padded with 0; and how many there are."""
    lists = values.str.split()
    known = {genre: number for number, genre in enumerate(sorted(set(lists.explode())), start=1)}
    ids = np.zeros((len(values), MOST_GENRES), np.int64)
    for row, genres in enumerate(lists):
        kept = [known[genre] for genre in genres[:MOST_GENRES]]
        ids[row, : len(kept)] = kept
    return ids, len(known) + 1


def clicks_so_far(
    ratings: pandas.DataFrame, name: str
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The share of clicks and the log of the number of ratings before each row, per user or film.

    The share is drawn towards one half as if there had been ten more ratings.
    """
    clicked = (ratings["rating"] >= CLICK_RATING).astype(float)
    groups = clicked.groupby(ratings[name])
    clicks = groups.cumsum() - clicked
    count = groups.cumcount()
    share = ((clicks + 5) / (count + 10)).to_numpy(np.float32)
    return share, np.log1p(count).to_numpy(np.float32)
