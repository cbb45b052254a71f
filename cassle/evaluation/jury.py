"""Everybody who judges the encoder of a run, and what they have found so far."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch

from cassle.augment.views import Augment
from cassle.data.dataset import Column, Dataset
from cassle.evaluation.features import BATCH, Encoded
from cassle.evaluation.health import health
from cassle.evaluation.matrix import average, forgetting, forward_transfer
from cassle.evaluation.probe import Probe, Verdict
from cassle.networks.encoder import Encoder
from cassle.randomness import key
from cassle.typing import Batch

PATIENTS = 2000
"""Test images, at most, that the encoder's health is told from."""


class Jury:
    """Asked before the first task and after each: once a row of every accuracy matrix, and a line about the encoder's health.

    Args:
        probes: by label; none where nothing is labelled.
        size: the side that images are brought to; as they are, if None.
        pause: called between batches.
    """

    def __init__(
        self,
        probes: Mapping[str, Probe],
        dataset: Dataset,
        columns: Sequence[Column],
        precision: torch.dtype,
        size: int | None,
        pause: Callable[[], None],
    ):
        self.probes, self.columns = probes, columns
        self.encoded = partial(Encoded, dataset=dataset, precision=precision, size=size, pause=pause)
        self.facts: dict[str, dict] = {"scores": {}, "classes": {}, "health": {}}
        """What a checkpoint keeps of it."""

    def random(self, encoder: Encoder, augment: Augment) -> None:
        """What random weights are worth: R."""
        verdicts = self._verdicts(self.encoded(encoder))
        self.facts["scores"] = {label: {"A": [], "R": verdict.row, "more": []} for label, verdict in verdicts.items()}
        self._examine(encoder, augment, None)

    def judge(self, encoder: Encoder, augment: Augment, before: Encoder | None) -> None:
        """One more row; `before` is the encoder of the task before."""
        for label, verdict in self._verdicts(self.encoded(encoder)).items():
            self.facts["scores"][label]["A"].append(verdict.row)
            self.facts["scores"][label]["more"].append(verdict.more)
            self.facts["classes"][label] = verdict.classes
        self._examine(encoder, augment, before)

    def accuracy(self) -> dict[str, dict]:
        """What `accuracy.json` holds."""
        return {
            label: {"A": s["A"], "R": s["R"], "average": average(s["A"]), "forgetting": forgetting(s["A"])}
            | {"forward_transfer": forward_transfer(s["A"], s["R"])}
            | {name: [found[name] for found in s["more"]] for name in (s["more"] or [{}])[-1]}
            for label, s in self.facts["scores"].items()
        }

    def _verdicts(self, encoded: Encoded) -> dict[str, Verdict]:
        return {label: probe.judge(encoded, self.columns) for label, probe in self.probes.items()}

    def _examine(self, encoder: Encoder, augment: Augment, before: Encoder | None) -> None:
        encoded = self.encoded(encoder)
        split = encoded.dataset.test
        if not len(split):
            return
        index = (torch.arange(min(len(split), PATIENTS), device=split.images.device) + 0.5) * len(split) / min(len(split), PATIENTS)
        now = encoded.seen(split, index.long())
        past = None if before is None else self.encoded(before).seen(split, now.index).f
        place = torch.tensor(key("health"), device=now.index.device)
        batch = Batch(split.images[now.index], now.index, now.labels, place)
        views = tuple(torch.cat([encoded.embedded(x)[0] for x in augment.view(batch, n).split(BATCH)]) for n in (0, 1))
        for name, value in health(now.f, views, past).items():
            self.facts["health"].setdefault(name, []).append(value)
