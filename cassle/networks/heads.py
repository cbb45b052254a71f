"""The one multi-layer perceptron that every projector and predictor is."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cassle.typing import Views


class Head(nn.Sequential):
    """Layers that see one view at a time: each view gets BatchNorm statistics of its own, as in the published code."""

    def forward(self, z: Views) -> Float[Tensor, "view batch out"]:
        return torch.stack([super(Head, self).forward(view) for view in z])


def mlp(*dims: int, norm: bool = True, bias: bool = True, last_norm: bool = False) -> Head:
    """Linear layers through `dims`, with BatchNorm (if `norm`) and ReLU after each but the last.

    Args:
        bias: of all layers; without, only the last has one.
        last_norm: the last ends in a BatchNorm without parameters, and needs no bias.
    """
    layers: list[nn.Module] = []
    for inputs, outputs in zip(dims[:-2], dims[1:-1]):
        layers += [nn.Linear(inputs, outputs, bias), *([nn.BatchNorm1d(outputs)] if norm else []), nn.ReLU(inplace=True)]
    layers.append(nn.Linear(*dims[-2:], bias=not last_norm))
    return Head(*layers, *([nn.BatchNorm1d(dims[-1], affine=False)] if last_norm else []))
