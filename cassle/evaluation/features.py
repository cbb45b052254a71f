"""What a backbone makes of a data set, computed once and shared by all probes."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import nn

from cassle.data.dataset import Dataset, Split
from cassle.data.images import normalized
from cassle.typing import Features, full


@dataclass(frozen=True)
class Encoded:
    """A backbone and the data set it is judged on: features of both splits, made when first asked for."""

    backbone: nn.Module
    dataset: Dataset
    precision: torch.dtype = torch.float32

    @cached_property
    def train(self) -> Features:
        return self._features(self.dataset.train)

    @cached_property
    def test(self) -> Features:
        return self._features(self.dataset.test)

    @torch.no_grad()
    def _features(self, split: Split, batch: int = 512) -> Features:
        """In evaluation mode, which leaves every byte of the backbone as it was."""
        device = split.images.device
        mean, std = self.dataset.pixel_statistics(device)
        training = self.backbone.training
        self.backbone.eval()
        with torch.autocast(device.type, self.precision, enabled=self.precision != torch.float32):
            chunks = torch.arange(len(split), device=device).split(batch)
            features = [full(self.backbone(normalized(split.images[index], mean, std))) for index in chunks]
        self.backbone.train(training)
        return torch.cat(features)
