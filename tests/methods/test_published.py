"""Each method's own loss, asked of the class itself, against the published code's numbers."""

import pytest
import torch
from torch.nn.functional import normalize

from cassle.clock import Clock
from cassle.methods.barlow_twins import BarlowTwins
from cassle.methods.byol import BYOL
from cassle.methods.deepclusterv2 import DeepClusterV2
from cassle.methods.dino import DINO
from cassle.methods.mocov2plus import MoCoV2Plus
from cassle.methods.nnclr import NNCLR
from cassle.methods.simclr import SimCLR
from cassle.methods.simsiam import SimSiam
from cassle.methods.supcon import SupCon
from cassle.methods.swav import SwAV
from cassle.methods.vicreg import VICReg
from cassle.methods.wmse import WMSE
from cassle.typing import Batch, Task
from tests.methods.stand_ins import Gives, embedding, made


def batch(n, epoch=0, labels=None):
    views = tuple(torch.zeros(2, n, 3, 2, 2, dtype=torch.float64))  # nobody looks
    labels = torch.arange(n) % 4 if labels is None else labels
    return Batch(torch.zeros(n, 3, 2, 2, dtype=torch.uint8), torch.arange(n), labels, torch.tensor(5), views, epoch)


def close(ours, theirs):
    torch.testing.assert_close(ours.detach(), theirs, rtol=1e-9, atol=1e-9 * float(theirs.abs().max()))


def given(prototypes, directions, length=1.0):
    prototypes.direction.data.copy_(directions)
    prototypes.length.data.fill_(length)


def pair(g, letter):
    return torch.stack([g[f"{letter}1"], g[f"{letter}2"]])


def byol(p, g):
    method = made(BYOL)
    method.h, method.target = Gives(p), Gives(embedding(pair(g, "f")))
    return method.loss(embedding(pair(g, "z")), batch(16))


def simsiam(p, g):
    method, z = made(SimSiam), pair(g, "z").requires_grad_()
    method.h = Gives(p)
    loss = method.loss(embedding(z), batch(16))
    assert torch.autograd.grad(loss, z, retain_graph=True, allow_unused=True) == (None,)  # the other view does not move
    return loss


def moco(z, g):
    method = made(MoCoV2Plus, queue=64)
    method.target = Gives(embedding(pair(g, "f")))
    method.queue.z.copy_(g["queue"])
    return method.loss(embedding(z), batch(16))


def nnclr(p, g):
    """The embeddings lie off their neighbours, but nearest to them."""
    method, neighbours = made(NNCLR, queue=32), pair(g, "f")
    method.queue.z.copy_(normalize(neighbours.flatten(0, 1), dim=1).T)
    method.h = Gives(p)
    noise = 0.1 * torch.randn(2, 16, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return method.loss(embedding(neighbours + noise), batch(16))


def swav(z, g):
    """Its queue, full of other things, must wait."""
    method = made(SwAV, prototypes=30, queue=32, queue_from=1)
    given(method.criterion, g["prototypes"])
    return method.loss(embedding(z), batch(16))


def dino(z, g):
    """In the tenth of thirty epochs, the teacher's temperature is a third of the way up."""
    T = float(g["dino.teacher_temperature"])
    method = made(DINO, prototypes=30, teacher=(T - 0.01, T + 0.02), warmup=30)
    given(method.criterion, g["prototypes"], 5.0)
    method.centre.copy_(g["dino.center"][0])
    method.target, method.teacher = Gives(embedding(z.detach())), Gives(None)
    method.teacher.copy = Gives(g["dino.teacher_logits"].unflatten(0, (2, -1)))
    loss = method.loss(embedding(z), batch(16, epoch=10))
    with torch.no_grad():
        method.after_step(Clock(0, 0, 1, 8), embedding(z), batch(16))
    close(method.centre, g["dino.center_after"][0])
    return loss


def deepclusterv2(z, g):
    method = made(DeepClusterV2, prototypes=(30,))
    method.begin_task(Task(0, torch.arange(16)))
    given(method.criterion, g["prototypes"])
    method.clusters.copy_(g["deepcluster.assignment"])
    return method.loss(embedding(z), batch(16, epoch=1))


GOLDEN = {  # name: (the class's loss of its two differentiated inputs, what they are called)
    "simclr": (lambda z, g: made(SimCLR).loss(embedding(z), batch(16)), "z"),
    "supcon": (lambda z, g: made(SupCon, temperature=0.2).loss(embedding(z), batch(16, labels=g["labels"])), "z"),
    "barlow": (lambda z, g: made(BarlowTwins).loss(embedding(z), batch(16)), "z"),
    "vicreg": (lambda z, g: made(VICReg).loss(embedding(z), batch(16)), "z"),
    "byol": (byol, "p"),
    "simsiam": (simsiam, "p"),
    "moco": (moco, "z"),
    "nnclr": (nnclr, "p"),
    "swav": (swav, "z"),
    "dino": (dino, "z"),
    "deepclusterv2": (deepclusterv2, "z"),
    "wmse_unwhitened_pair": (lambda z, g: made(WMSE, 12, eps=0.0, rounds=2).loss(embedding(z), batch(64)), "wmse.z"),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_method_s_value_and_gradient_are_the_published_code_s(name, losses):
    loss_of, letter = GOLDEN[name]
    inputs = [losses[f"{letter}{view}"].clone().requires_grad_() for view in (1, 2)]
    loss = loss_of(torch.stack(inputs), losses)
    loss.backward()
    close(loss, losses[f"loss.{name}"])
    for i, z in enumerate(inputs):
        close(z.grad, losses[f"grad{i}.{name}"])
