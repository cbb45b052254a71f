"""DomainNet (Peng et al., 2019): 345 kinds of things in six domains, 587,000 images; a domain a task."""

from collections.abc import Iterator
from pathlib import Path

from cassle.data.bank import Bank, Entry, bank
from cassle.data.dataset import IMAGENET_MEAN, PAPER_STD, Dataset
from cassle.data.folder import assembled
from cassle.errors import UserError
from cassle.kinds import Folder, Whole


def domainnet(
    root: Folder = "domainnet",
    domains: tuple[str, ...] = ("real", "quickdraw", "painting", "sketch", "infograph", "clipart"),
    image_size: Whole = 0,
) -> Dataset:
    """The publisher's folders with their DOMAIN_train.txt and DOMAIN_test.txt; domains in this order, large ones first as in the paper."""
    return assembled("domainnet", _banked(Path(root), domains, image_size), IMAGENET_MEAN, PAPER_STD)


def prepare(root: str, domains: tuple[str, ...], image_size: int) -> None:
    """Decode what is not decoded yet, with progress."""
    _banked(Path(root), domains, image_size, show=True)


def fetch(root: Path | None) -> str:
    """Nothing: what to put where."""
    raise UserError(
        "domainnet: its publisher (ai.bu.edu/M3SDA) wants you to fetch it yourself: put the folders real, quickdraw ... and the lists "
        "real_train.txt, real_test.txt ... into one folder, and give it as data.root=FOLDER"
    )


def _banked(root: Path, domains: tuple[str, ...], image_size: int, show: bool = False) -> Bank:
    return bank(root, lambda: _listed(root, domains), image_size, show)


def _listed(root: Path, domains: tuple[str, ...]) -> Iterator[Entry]:
    """The lists' lines are `DOMAIN/CLASS/FILE NUMBER`."""
    for half in ("train", "test"):
        for domain in domains:
            page = root / f"{domain}_{half}.txt"
            try:
                lines = page.read_text("utf-8").splitlines()
            except OSError as error:
                raise UserError(f"{page}: cannot be read ({error.strerror}); see `cassle data domainnet`") from None
            for number, line in enumerate(lines, 1):
                path, space, _ = line.rpartition(" ")
                parts = Path(path).parts
                if not line.strip():
                    continue
                if not space or len(parts) < 3 or parts[0] in ("/", "..") or ".." in parts:
                    raise UserError(f"{page}, line {number}: want DOMAIN/CLASS/FILE NUMBER, got {line[:80]!r}")
                yield path, (half, domain, parts[-2])
