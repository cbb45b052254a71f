"""How many views a second one core (or one GPU) makes: batched, against Pillow image by image, in the same run.

    PYTHONPATH=. python benchmarks/augment.py [--device cuda] [--size 32] [--rounds 7]

Pillow's side does what torchvision's transforms do on PIL images: crop and resize, jitter in a random order, gray, blur,
solarize, flip, and into a normalised tensor, with the same chances.  Rounds alternate; the medians count.
"""

import argparse
import json
import math
import random
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from cassle.augment.views import Augment, View
from cassle.data.dataset import CIFAR_MEAN, CIFAR_STD
from cassle.typing import Batch

RECIPES = {
    "simclr": View(),
    "barlow_twins, view B": View(brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1, solarize=0.2),
    "imagenet, SimCLR": View(blur=0.5),
}
MEAN, STD = (np.array(x, dtype=np.float32) for x in (CIFAR_MEAN, CIFAR_STD))


def by_pillow(image: Image.Image, view: View, size: int) -> torch.Tensor:
    """One view of one image."""
    x = image.resize((size, size), Image.BICUBIC, box=box(image, view))
    if random.random() < view.jitter:
        between = lambda s: random.uniform(max(0, 1 - s), 1 + s)  # noqa: E731
        steps = [
            lambda x: ImageEnhance.Brightness(x).enhance(between(view.brightness)),
            lambda x: ImageEnhance.Contrast(x).enhance(between(view.contrast)),
            lambda x: ImageEnhance.Color(x).enhance(between(view.saturation)),
            lambda x: hue(x, random.uniform(-view.hue, view.hue)),
        ]
        for step in random.sample(steps, 4):
            x = step(x)
    if random.random() < view.gray:
        x = Image.merge("RGB", [x.convert("L")] * 3)
    if random.random() < view.blur:
        x = x.filter(ImageFilter.GaussianBlur(random.uniform(*view.sigma)))
    if random.random() < view.solarize:
        x = ImageOps.solarize(x)
    if random.random() < view.flip:
        x = x.transpose(Image.FLIP_LEFT_RIGHT)
    return torch.from_numpy(((np.asarray(x, dtype=np.float32) / 255 - MEAN) / STD).transpose(2, 0, 1))


def box(image: Image.Image, view: View) -> tuple[int, int, int, int]:
    width, height = image.size
    for _ in range(10):
        area = width * height * random.uniform(*view.scale)
        shape = math.exp(random.uniform(*map(math.log, view.ratio)))
        w, h = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
        if 0 < w <= width and 0 < h <= height:
            left, top = random.randint(0, width - w), random.randint(0, height - h)
            return left, top, left + w, top + h
    return 0, 0, width, height


def hue(x: Image.Image, shift: float) -> Image.Image:
    h, s, v = x.convert("HSV").split()
    turned = (np.asarray(h, dtype=np.int16) + int(shift * 255)).astype(np.uint8)
    return Image.merge("HSV", (Image.fromarray(turned), s, v)).convert("RGB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", type=int, default=32, help="of the images and of the views")
    parser.add_argument("--batch", type=int, default=256, help="images, two views of each")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    torch.set_num_threads(1)
    pixels = torch.randint(0, 256, (args.batch, 3, args.size // 4, args.size // 4), dtype=torch.uint8)
    pixels = pixels.repeat_interleave(4, 2).repeat_interleave(4, 3)
    pictures = [Image.fromarray(x.permute(1, 2, 0).numpy()) for x in pixels]
    lane = torch.arange(args.batch, device=args.device)
    batch = Batch(pixels.to(args.device).contiguous(memory_format=torch.channels_last), lane, lane, torch.tensor(5, device=args.device))
    found = []
    for name, view in RECIPES.items():
        import dataclasses

        view = dataclasses.replace(view, size=args.size)
        augment = Augment((view, view), CIFAR_MEAN, CIFAR_STD).to(args.device)
        ours, theirs = [], []
        for _ in range(args.rounds + 1):
            ours.append(timed(lambda: augment(batch), args.device))
            theirs.append(timed(lambda: [torch.stack([by_pillow(p, view, args.size) for p in pictures]) for _ in range(2)], "cpu"))
        a, b = (2 * args.batch / statistics.median(times[1:]) for times in (ours, theirs))
        found.append({"recipe": name, "cassle, views/s": round(a), "Pillow, views/s of one core": round(b), "ratio": round(a / b, 2)})
        print(json.dumps(found[-1]))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True).stdout.strip()
    print(json.dumps({"device": args.device, "size": args.size, "torch": torch.__version__, "Pillow": Image.__version__, "commit": commit, "date": time.strftime("%Y-%m-%d")}))


def timed(work, device: str) -> float:
    start = time.perf_counter()
    work()
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
