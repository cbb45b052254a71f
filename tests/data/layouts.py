"""Tiny stand-ins of every layout that a data file reads: each writes one below a folder, and says how to name it."""

import json
import pickle
import struct
from pathlib import Path

import numpy as np
from PIL import Image

from cassle.data.imagenet100 import CLASSES

DOMAINS = ("real", "quickdraw", "painting", "sketch", "infograph", "clipart")


def pixels(number: int, height: int = 32, width: int = 32) -> np.ndarray:
    """An image that is unlike all others."""
    return np.random.default_rng(number).integers(0, 256, (height, width, 3), dtype=np.uint8)


def put(path: Path, number: int, height: int = 0, width: int = 0) -> None:
    """A picture file; of a size that hangs on its number if none is given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels(number, height or 33 + number % 7, width or 36 + number % 5)).save(path)


def rows(n: int) -> np.ndarray:
    """Images as CIFAR has them: red, then green, then blue."""
    return np.stack([pixels(i).transpose(2, 0, 1).reshape(-1) for i in range(n)])


def python2(content: dict[str, object]) -> bytes:
    """A dictionary as Python 2 and its NumPy wrote it, protocol 2."""

    def text(value: str | bytes) -> bytes:
        value = value.encode() if isinstance(value, str) else value
        return b"U" + bytes([len(value)]) + value if len(value) < 256 else b"T" + struct.pack("<i", len(value)) + value

    def number(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    def one(value: object) -> bytes:
        if isinstance(value, list):
            return b"](" + b"".join(map(one, value)) + b"e"
        if isinstance(value, np.ndarray):
            kind = b"cnumpy\ndtype\n" + text("u1") + number(0) + number(1) + b"\x87R("
            kind += number(3) + text("|") + b"NNN" + number(-1) + number(-1) + number(0) + b"tb"
            begun = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + number(0) + b"\x85" + text("b") + b"\x87R"
            shape = b"(" + b"".join(map(number, value.shape)) + b"t"
            return begun + b"(" + number(1) + shape + kind + b"\x89" + text(value.tobytes()) + b"tb"
        return number(value) if isinstance(value, int) else text(value)

    return b"\x80\x02}(" + b"".join(text(key) + one(value) for key, value in content.items()) + b"u."


def today(content: dict[str, object]) -> bytes:
    return pickle.dumps(content, protocol=4)


def cifar100(root: Path, each: int = 2, written=today) -> dict:
    place = root / "cifar-100-python"
    place.mkdir(parents=True)
    for half, n in (("train", 100 * each), ("test", 100)):
        (place / half).write_bytes(written({"data": rows(n), "fine_labels": [i % 100 for i in range(n)]}))
    (place / "meta").write_bytes(written({"fine_label_names": [f"class{i}" for i in range(100)]}))
    return {"name": "cifar100", "root": str(root)}


def cifar10(root: Path, each: int = 2, written=today) -> dict:
    place = root / "cifar-10-batches-py"
    place.mkdir(parents=True)
    for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        (place / name).write_bytes(written({"data": rows(10 * each), "labels": list(range(10)) * each}))
    (place / "batches.meta").write_bytes(written({"label_names": [f"class{i}" for i in range(10)]}))
    return {"name": "cifar10", "root": str(root)}


def cifar10_sheets(root: Path, each: int = 2) -> dict:
    root.mkdir(parents=True)
    for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        Image.fromarray(np.stack([pixels(i).reshape(-1, 3) for i in range(10 * each)])).save(root / f"{name}.png")
    (root / "train_lables.json").write_text(json.dumps([*range(10)] * 5 * each))
    (root / "test_lables.json").write_text(json.dumps([*range(10)] * each))
    return {"name": "cifar10", "root": str(root)}


def stl10(root: Path, each: int = 2) -> dict:
    place = root / "stl10_binary"
    place.mkdir(parents=True)
    for half, n in (("train", 10 * each), ("test", 10), ("unlabeled", 20 * each)):
        images = np.stack([pixels(i, 96, 96) for i in range(n)])
        images.transpose(0, 3, 2, 1).tofile(place / f"{half}_X.bin")
        if half != "unlabeled":
            (np.arange(n) % 10 + 1).astype(np.uint8).tofile(place / f"{half}_y.bin")
    (place / "class_names.txt").write_text("\n".join(f"class{i}" for i in range(10)) + "\n")
    return {"name": "stl10", "root": str(root)}


def imagenet100(root: Path, each: int = 2) -> dict:
    for c, wnid in enumerate((*CLASSES, "n00000000")):  # one that is none of the hundred
        for i in range(each):
            put(root / "train" / wnid / f"{wnid}_{i}.JPEG", c * each + i)
        put(root / "val" / wnid / "ILSVRC2012_val_00000001.JPEG", c)
    return {"name": "imagenet100", "root": str(root)}


def domainnet(root: Path, each: int = 4) -> dict:
    for d, domain in enumerate(DOMAINS):
        for half, n in (("train", each), ("test", 2)):
            lines = []
            for c, kind in enumerate(("aircraft_carrier", "zebra")):
                for i in range(n):
                    path = f"{domain}/{kind}/{domain}_{half}_{i:06d}.jpg"
                    put(root / path, 1000 * d + 100 * c + 50 * (half == "test") + i)
                    lines.append(f"{path} {c}\n")
            (root / f"{domain}_{half}.txt").write_text("".join(lines))
    return {"name": "domainnet", "root": str(root)}


def tiny_imagenet(root: Path, each: int = 3) -> dict:
    place, lines = root / "tiny-imagenet-200", []
    for c, wnid in enumerate(("n01443537", "n01629819", "n01641577", "n01644900")):
        for i in range(each):
            put(place / "train" / wnid / "images" / f"{wnid}_{i}.JPEG", c * each + i, 64, 64)
        put(place / f"val/images/val_{c}.JPEG", c, 64, 64)
        lines.append(f"val_{c}.JPEG\t{wnid}\t0\t0\t62\t62\n")
    (place / "val/val_annotations.txt").write_text("".join(lines))
    return {"name": "tiny_imagenet", "root": str(root)}


def folder_of_halves(root: Path, each: int = 4) -> dict:
    for c, kind in enumerate(("cat", "dog")):
        for i in range(each):
            put(root / "train" / kind / f"{i}.png", 100 * c + i)
        put(root / "val" / kind / "0.png", 100 * c + 50)
    return {"name": "folder", "root": str(root)}


def folder_of_domains(root: Path, each: int = 4) -> dict:
    """As PACS: the second domain is the largest."""
    for d, domain in enumerate(("art", "photo", "sketch")):
        for c, kind in enumerate(("cat", "dog")):
            for i in range(each + (d == 1)):
                put(root / domain / "train" / kind / f"{i}.png", 1000 * d + 100 * c + i)
            put(root / domain / "test" / kind / "0.png", 1000 * d + 100 * c + 50)
    return {"name": "folder", "root": str(root)}


def folder_of_classes(root: Path, each: int = 12) -> dict:
    for c, kind in enumerate(("cat", "dog")):
        for i in range(each):
            put(root / kind / f"{i}.png", 1000 + 100 * c + i)
    return {"name": "folder", "root": str(root), "test": 0.25}


def folder_flat(root: Path, each: int = 24) -> dict:
    for i in range(each):
        put(root / f"{i:03d}.png", i)
    return {"name": "folder", "root": str(root), "test": 0.25}


def folders(root: Path, each: int = 24) -> dict:
    parts = [folder_flat(root / "2024", each), folder_of_classes(root / "2025", each // 2)]
    return {"name": "folders", "roots": [part["root"] for part in parts], "test": 0.25}


LAYOUTS = {
    write.__name__: write
    for write in (
        cifar100,
        cifar10,
        cifar10_sheets,
        stl10,
        imagenet100,
        domainnet,
        tiny_imagenet,
        folder_of_halves,
        folder_of_domains,
        folder_of_classes,
        folder_flat,
        folders,
    )
}
