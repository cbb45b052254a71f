"""CaSSLe in one file: SimCLR learns photographs, then letters, with and without predicting its past.

    python examples/cassle_in_one_file.py

Plain PyTorch, nothing of the library: the paper's idea is the line marked Eq. 4.  The library computes the same losses,
step for step; `tests/test_example.py` holds it to that.
"""

import json
from copy import deepcopy
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

TEMPERATURE, BATCH, STEPS, LR = 0.2, 128, 300, 1.0


class Backbone(nn.Module):
    """f_b: a small convolutional network."""

    dim = 64

    def __init__(self):
        super().__init__()
        layers = []
        for inputs, outputs in ((3, 16), (16, 32), (32, 64)):
            layers += [nn.Conv2d(inputs, outputs, 3, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x).mean((2, 3))


class Encoder(nn.Module):
    """z = f_p(f_b(x))."""

    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.projector = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32))

    def forward(self, x):
        return self.projector(self.backbone(x))


def predictor():
    """g: from the present's embedding to the past's."""
    return nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))


def two_views(images, generator):
    """Every image twice: another shift, another mirror, another brightness, maybe gray."""
    views = []
    for _ in range(2):
        n = len(images)
        draw = lambda *shape: torch.rand(*shape, generator=generator, dtype=images.dtype)  # noqa: E731
        shift, grow = (draw(n, 2) - 0.5) * 0.8, 0.4 + 0.6 * draw(n)
        mirror = torch.where(draw(n) < 0.5, -1.0, 1.0)
        zero = torch.zeros_like(grow)
        where = torch.stack([torch.stack([grow * mirror, zero, shift[:, 0]], 1), torch.stack([zero, grow, shift[:, 1]], 1)], 1)
        view = F.grid_sample(images, F.affine_grid(where, images.shape, align_corners=False), padding_mode="border", align_corners=False)
        view = view * (0.6 + 0.8 * draw(n, 3, 1, 1))
        views.append(torch.where(draw(n, 1, 1, 1) < 0.2, view.mean(1, keepdim=True), view))
    return views


def simclr(z_a, z_b):
    """Eq. 1 for SimCLR: find your other view among all others."""
    z = F.normalize(torch.cat([z_a, z_b]), dim=1)
    logits = (z @ z.T / TEMPERATURE).fill_diagonal_(float("-inf"))
    return F.cross_entropy(logits, torch.arange(len(z)).roll(len(z_a)))


def infonce(p, past):
    """The same question about the past: find your former self among all, and the other way round."""
    logits = F.normalize(p, dim=1) @ F.normalize(past, dim=1).T / TEMPERATURE
    me = torch.arange(len(p))
    return (F.cross_entropy(logits, me) + F.cross_entropy(logits.T, me)) / 2


def lars(parameters, momenta, lr, momentum=0.9, weight_decay=1e-4, eta=0.02):
    """One step; biases and norms move as under plain SGD."""
    with torch.no_grad():
        for w, m in zip(parameters, momenta):
            g = w.grad
            if w.ndim > 1:
                trust = eta * w.norm() / (g.norm() + weight_decay * w.norm() + 1e-8)
                g = (g + weight_decay * w) * min(float(trust) / lr, 1.0)
            m.mul_(momentum).add_(g)
            w.sub_(lr * m)


def learn(encoder, images, generator, past=None, g=None, steps=STEPS, batch=BATCH, lr=LR):
    """One task; yields the two losses of every step."""
    parameters = [*encoder.parameters(), *(g.parameters() if past else [])]
    momenta = [torch.zeros_like(w) for w in parameters]
    for _ in range(steps):
        x_a, x_b = two_views(images[torch.randint(len(images), (batch,), generator=generator)], generator)
        z_a, z_b = encoder(x_a), encoder(x_b)
        ssl, distillation = simclr(z_a, z_b), torch.zeros((), dtype=z_a.dtype)
        if past:
            with torch.no_grad():  # the past is frozen; its BatchNorm uses the batch, as in the published code
                past_a, past_b = past(x_a), past(x_b)
            p = torch.cat([g(z_a), g(z_b)])
            distillation = infonce(p, torch.cat([past_a, past_b]))  # L_D = L_SSL(g(z), z')      Eq. 4
        for w in parameters:
            w.grad = None
        (ssl + distillation).backward()  # Eq. 5
        lars(parameters, momenta, lr)
        yield ssl.item(), distillation.item()


def neighbours(encoder, images, labels):
    """How often the nearest other image has the same label, in percent."""
    with torch.no_grad():
        f = F.normalize(encoder.eval().backbone(images), dim=1)
    encoder.train()
    nearest = (f @ f.T).fill_diagonal_(-1).argmax(1)
    return 100 * (labels[nearest] == labels).double().mean().item()


def load(name):
    """An embedded set's training images: a sheet of tiles, sorted by class."""
    folder = Path(__file__).parents[1] / "cassle" / "data" / "embedded"
    about = json.loads((folder / f"{name}.json").read_text())
    sheet = torch.from_numpy(np.array(Image.open(folder / about["sheet"]).convert("RGB")))
    tiles = sheet.unflatten(0, (-1, 32)).unflatten(2, (-1, 32)).permute(0, 2, 4, 1, 3).flatten(0, 1)
    counts = torch.tensor(about["counts"]["train"][name])
    return tiles[: counts.sum()] / 255 - 0.5, torch.arange(len(counts)).repeat_interleave(counts)


def main():
    torch.manual_seed(0)
    scenes, places = load("scenes")
    letters, _ = load("glyphs")
    first = Encoder()
    for _ in learn(first, scenes, torch.Generator().manual_seed(1)):
        pass
    print(f"places recognised after learning them: {neighbours(first, scenes, places):.1f} %")
    for name in ("fine-tuning", "CaSSLe"):
        encoder, past, g = deepcopy(first), None, None
        if name == "CaSSLe":
            past, g = deepcopy(first).requires_grad_(False), predictor()
        for _ in learn(encoder, letters, torch.Generator().manual_seed(2), past, g):
            pass
        print(f"... and after letters, with {name}: {neighbours(encoder, scenes, places):.1f} %")


if __name__ == "__main__":
    main()
