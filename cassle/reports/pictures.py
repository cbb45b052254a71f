"""What the encoders see, ready for the page: clouds of features, and images beside their nearest neighbours."""

import math
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO

import torch
from PIL import Image
from safetensors import SafetensorError
from torch.nn import functional as F

from cassle.evaluation.features import sized
from cassle.reports import sight
from cassle.reports.plots import cloud
from cassle.reports.sight import Sample
from cassle.reports.story import Story
from cassle.typing import Features, Patches

SEEN = 2000
"""Test images that every encoder looks at, at most."""
DOTS, ROWS = 3000, 100
"""About how many points and how many rows of neighbours a page can hold."""
SIDE = 64
"""Of a thumbnail, in pixels, where the image is larger."""


@dataclass(frozen=True)
class Eye:
    """An encoder at the end of its run, and after its first task if that was not the end."""

    story: Story
    now: Features
    then: Features | None


@dataclass(frozen=True)
class Row:
    """The nearest neighbours of one image in one encoder, each with whether it is of the image's class."""

    story: Story
    moment: str
    tiles: list[tuple[int, bool]]


@dataclass(frozen=True)
class Card:
    """One image, and its neighbours in every encoder."""

    tile: int
    label: str
    column: str
    rows: list[Row]


@dataclass(frozen=True)
class Sheet:
    """The images that are shown, once each, side by side in one picture."""

    url: str
    across: int
    place: dict[int, tuple[int, int]]


@dataclass
class View:
    """The pictures of runs that are judged on the same test images, or why there are none."""

    stories: Sequence[Story]
    names: list[str]
    missing: list[str] = field(default_factory=list)
    seen: int = 0
    dots: int = 0
    clouds: list[tuple[Story, str | None]] = field(default_factory=list)
    kinship: list[tuple[Story, list[float], float | None]] = field(default_factory=list)
    """In percent, for each column now, and for the first column then."""
    cards: list[Card] = field(default_factory=list)
    sheet: Sheet | None = None


def view(stories: Sequence[Story]) -> View:
    """Look at the same images through the eyes of every run."""
    made = View(stories, stories[0].column_names)
    if not (dataset := stories[0].dataset):
        made.missing.append(f"the images of {stories[0].tree['data']['name']} cannot be opened here")
        return made
    seen = sight.sample(dataset, stories[0].columns, SEEN)
    eyes = [eye for story in stories if (eye := _opened(story, seen, made.missing))]
    if eyes:
        made.seen = len(seen)
        made.kinship = [_kinship(eye, seen) for eye in eyes if dataset.classes]
        shown = seen.thinned(min(1000, max(300, DOTS // len(eyes))))
        made.dots = len(shown)
        start = None
        for eye in eyes:
            points = sight.layout(eye.now[shown], start)
            start = points if start is None else start
            made.clouds.append((eye.story, None if points is None else cloud(points, seen.column[shown].numpy())))
        made.cards = _cards(eyes, seen, made.names)
        made.sheet = _sheet(seen, (tile for card in made.cards for tile in (card.tile, *(t for row in card.rows for t, _ in row.tiles))))
    return made


def _opened(story: Story, seen: Sample, missing: list[str]) -> Eye | None:
    """The encoders of a run, or a line about why there are none."""
    places = [story.record.encoder(task) for task in ([story.done - 1, 0] if story.done > 1 else [0])]
    if absent := [place.name for place in places if not place.is_file()]:
        missing.append(f"{story.name} has kept no {absent[0]}")
        return None
    try:
        now, *then = (sight.features(story.experiment, place, seen) for place in places)
    except (OSError, RuntimeError, SafetensorError) as error:
        missing.append(f"an encoder of {story.name} cannot be opened ({str(error).splitlines()[0]})")
        return None
    return Eye(story, now, then[0] if then else None)


def _kinship(eye: Eye, seen: Sample) -> tuple[Story, list[float], float | None]:
    columns = [(seen.column == number).nonzero().flatten() for number in range(len(eye.story.column_names))]
    now = [sight.kinship(eye.now, seen.labels, own) for own in columns]
    return eye.story, now, None if eye.then is None else sight.kinship(eye.then, seen.labels, columns[0])


def _cards(eyes: Sequence[Eye], seen: Sample, names: Sequence[str]) -> list[Card]:
    """About two images a column; those of the first column are seen with the first task's encoder too."""
    each = 4 if len(names) == 1 else 2 if 2 * len(names) * len(eyes) <= ROWS else 1
    chosen = sight.queries(seen, each)[: max(4, ROWS // len(eyes))]
    moments = []
    for eye in eyes:
        if eye.then is not None:
            moments.append((eye.story, f"after {eye.story.task_names[0]}", sight.nearest(eye.then, chosen), True))
        moments.append((eye.story, "at the end" if eye.then is not None else "", sight.nearest(eye.now, chosen), False))
    cards = []
    for i, query in enumerate(chosen.tolist()):
        label, column = int(seen.labels[query]), int(seen.column[query])
        rows = [
            Row(story, moment if column == 0 else "", [(tile, int(seen.labels[tile]) == label >= 0) for tile in near[i].tolist()])
            for story, moment, near, early in moments
            if column == 0 or not early
        ]
        name = seen.dataset.classes[label].removeprefix(f"{names[column]}: ") if label >= 0 else ""
        cards.append(Card(query, name, names[column], rows))
    return cards


def _sheet(seen: Sample, tiles: Iterable[int]) -> Sheet:
    """WebP: without loss where images are small, since their pixels will be looked at."""
    used = sorted(set(tiles))
    across = math.ceil(math.sqrt(len(used)))
    images = seen.dataset.test.images[torch.tensor(used)]
    images = sized(images, SIDE) if isinstance(images, Patches) else images.float()
    side = min(SIDE, max(images.shape[2:]))
    if images.shape[2:] != (side, side):
        images = F.interpolate(images, (side, side), mode="bilinear", antialias=True)
    images = F.pad(images, (0, 0, 0, 0, 0, 0, 0, -len(used) % across)).round().clamp(0, 255).byte()
    picture = images.permute(0, 2, 3, 1).unflatten(0, (-1, across)).transpose(1, 2).flatten(2, 3).flatten(0, 1)
    file = BytesIO()
    Image.fromarray(picture.numpy()).save(file, "WEBP", lossless=side < SIDE, quality=80, method=4)
    place = {tile: (i % across, i // across) for i, tile in enumerate(used)}
    return Sheet("data:image/webp;base64," + b64encode(file.getvalue()).decode(), across, place)
