"""DomainNet (Peng et al., 2019): 345 kinds of things in six domains, 587,000 images; a domain a task."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cassle.config import folder as resolved
from cassle.data.bank import bank
from cassle.data.dataset import IMAGENET_MEAN, PAPER_STD, Dataset
from cassle.data.decoders import Entry
from cassle.data.folder import assembled, described
from cassle.errors import UserError
from cassle.kinds import Folder, Some, Whole


def domainnet(
    root: Folder = "domainnet",
    domains: Some[str] = ("real", "quickdraw", "painting", "sketch", "infograph", "clipart"),
    image_size: Whole = 0,
    square: bool = False,
) -> Dataset:
    """The publisher's folders with their DOMAIN_train.txt and DOMAIN_test.txt; domains in this order, large ones first as in the paper.

    Args:
        image_size: see `folder`; likewise `square`.
    """
    banks = [bank(Path(root), partial(_listed, Path(root), domain), image_size, square) for domain in domains]
    return assembled("domainnet", banks, domains, IMAGENET_MEAN, PAPER_STD)


def fetch(root: Path | None) -> str:
    """Nothing: what to put where; or look through what is there, and decode it."""
    if root is not None:
        return described(domainnet(resolved(str(root), "--root")), root, f"data=domainnet data.root={root}")
    raise UserError(
        "domainnet: its publisher (ai.bu.edu/M3SDA) wants you to fetch it yourself: put the folders real, quickdraw ... and the lists "
        "real_train.txt, real_test.txt ... into one folder, and give it as data.root=FOLDER"
    )


def _listed(root: Path, domain: str) -> Iterator[Entry]:
    """The lists' lines are `DOMAIN/CLASS/FILE NUMBER`."""
    for half in ("train", "test"):
        page = root / f"{domain}_{half}.txt"
        try:
            lines = page.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{page}: cannot be read ({error}); see `cassle data domainnet`") from None
        for number, line in enumerate(lines, 1):
            path, space, _ = line.rpartition(" ")
            parts = path.split("/")
            if not line.strip():
                continue
            if not space or len(parts) < 3 or parts[0] != domain or ".." in parts:
                raise UserError(f"{page}, line {number}: want {domain}/CLASS/FILE NUMBER, got {line[:80]!r}")
            yield path, (half, domain, parts[-2])
