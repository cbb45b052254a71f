"""ImageNet-100 (Tian et al., 2020): the hundred classes of ILSVRC 2012 that the paper uses; 129,000 images."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cassle.config import folder as resolved
from cassle.data.bank import bank
from cassle.data.dataset import IMAGENET_MEAN, PAPER_STD, Dataset
from cassle.data.decoders import Entry
from cassle.data.folder import assembled, described, files
from cassle.errors import UserError
from cassle.kinds import Folder, Whole

CLASSES = tuple(
    """
    n01558993 n01692333 n01729322 n01735189 n01749939 n01773797 n01820546 n01855672 n01978455 n01980166 n01983481 n02009229 n02018207
    n02085620 n02086240 n02086910 n02087046 n02089867 n02089973 n02090622 n02091831 n02093428 n02099849 n02100583 n02104029 n02105505
    n02106550 n02107142 n02108089 n02109047 n02113799 n02113978 n02114855 n02116738 n02119022 n02123045 n02138441 n02172182 n02231487
    n02259212 n02326432 n02396427 n02483362 n02488291 n02701002 n02788148 n02804414 n02859443 n02869837 n02877765 n02974003 n03017168
    n03032252 n03062245 n03085013 n03259280 n03379051 n03424325 n03492542 n03494278 n03530642 n03584829 n03594734 n03637318 n03642806
    n03764736 n03775546 n03777754 n03785016 n03787032 n03794056 n03837869 n03891251 n03903868 n03930630 n03947888 n04026417 n04067472
    n04099969 n04111531 n04127249 n04136333 n04229816 n04238763 n04336792 n04418357 n04429376 n04435653 n04485082 n04493381 n04517823
    n04589890 n04592741 n07714571 n07715103 n07753275 n07831146 n07836838 n13037406 n13040303
    """.split()
)


def imagenet100(root: Folder = "imagenet", image_size: Whole = 0, square: bool = False) -> Dataset:
    """Out of ILSVRC's folders train/WNID and val/WNID, of which others may be there; classes in the order of their names.

    Args:
        image_size: see `folder`; likewise `square`.
    """
    images = bank(Path(root), partial(_listed, Path(root)), image_size, square)
    return assembled("imagenet100", [images], ("",), IMAGENET_MEAN, PAPER_STD)


def fetch(root: Path | None) -> str:
    """Nothing: what to put where; or look through what is there, and decode it."""
    if root is not None:
        return described(imagenet100(resolved(str(root), "--root")), root, f"data=imagenet100 data.root={root}")
    raise UserError(
        "imagenet100: ILSVRC 2012 is given out by image-net.org to those who register: unpack it to FOLDER/train/WNID/*.JPEG and "
        "FOLDER/val/WNID/*.JPEG, and give it as data.root=FOLDER; the hundred classes are picked from it"
    )


def _listed(root: Path) -> Iterator[Entry]:
    for half, name in (("train", "train"), ("test", "val")):
        missing = [wnid for wnid in CLASSES if not (root / name / wnid).is_dir()]
        if missing:
            words = f"{len(missing)} of the 100 classes are not there, {missing[0]} for one"
            raise UserError(f"{root / name}: {words}; see `cassle data imagenet100`")
        for wnid in CLASSES:
            for path in files(root, f"{name}/{wnid}"):
                yield path, (half, "", wnid)
