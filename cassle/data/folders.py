"""A stream written down as a list of folders: each is a domain, in their order, and each is decoded by itself."""

import json
from dataclasses import replace
from pathlib import Path

from cassle.config import folder as resolved
from cassle.data.dataset import Dataset
from cassle.data.folder import assembled, banked, described
from cassle.errors import UserError
from cassle.kinds import Folder, Share, Some, Whole


def folders(roots: Some[Folder], image_size: Whole = 0, square: bool = False, test: Share = 0.1) -> Dataset:
    """Folders as `folder` reads them, one after the other; another one at the end does not decode the others again.

    Classes are the same where their names are; a folder's own domains are one here.  See `folder` for the settings.
    """
    if not roots:
        raise UserError("data.roots: name one folder at least")
    names = [Path(root).name for root in roots]
    names = [name if names.count(name) == 1 else str(root) for name, root in zip(names, roots)]
    if len(set(names)) < len(names):
        raise UserError("data.roots: each folder may be named once")
    banks = []
    for name, root in zip(names, roots):
        found = banked(Path(root), image_size, square, test)
        banks.append(replace(found, groups=tuple((half, name, kind) for half, _, kind in found.groups)))
    return assembled("folders", banks, names)


def fetch(root: Path | None) -> str:
    """Look through the folders in a folder."""
    if root is None:
        raise UserError('folders: give your own, as data={name="folders",roots=["2024","2025"]}; --root DIR looks through those in DIR')
    inner = sorted(str(path) for path in Path(resolved(str(root), "--root")).iterdir() if path.is_dir())
    return described(folders(tuple(inner)), root, f"'data={{name=\"folders\",roots={json.dumps(inner)}}}'")
