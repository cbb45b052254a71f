"""The small image sets that ship with the package: each a sheet of tiles and a description of it."""

import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from cassle.data.dataset import Dataset, Split
from cassle.data.images import Images

SHEETS = Path(__file__).with_name("embedded")


def sheet(name: str) -> Dataset:
    """Read a set of tiles, laid out by split, then domain, then class; gray becomes RGB, and 28 pixels 32 by a margin."""
    about = json.loads((SHEETS / f"{name}.json").read_text("utf-8"))
    width, height = about["tile"]
    with Image.open(SHEETS / about["sheet"], formats=["WEBP", "PNG"]) as picture:
        pixels = torch.from_numpy(np.array(picture.convert("RGB")))
    tiles = pixels.unflatten(0, (-1, height)).unflatten(2, (about["columns"], width)).transpose(1, 2).flatten(0, 1)
    tiles = F.pad(tiles, (0, 0, *margins(width), *margins(height)))
    splits, start = [], 0
    for counts in about["counts"].values():
        counts = torch.tensor([counts[domain] for domain in about["domains"]])
        domains, labels = (torch.arange(n) for n in counts.shape)
        many = counts.flatten()
        splits.append(
            Split(
                Images(tiles[start : start + int(many.sum())].contiguous()),
                labels=labels.repeat(len(domains)).repeat_interleave(many),
                domains=domains.repeat_interleave(len(labels)).repeat_interleave(many),
            )
        )
        start += len(splits[-1])
    return Dataset(name, *splits, classes=tuple(about["classes"]), domains=tuple(about["domains"]))


def margins(side: int, target: int = 32) -> tuple[int, int]:
    """How much to put before and after, to reach the size all sheets have."""
    return (target - side) // 2, (target - side + 1) // 2
