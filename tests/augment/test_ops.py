"""Every operation against Pillow: its golden outputs, and where the right Pillow is installed, the library itself."""

import itertools
from pathlib import Path

import numpy as np
import PIL
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from cassle.augment import resize
from cassle.augment.blur import gaussian_blur
from cassle.augment.colour import brightness, contrast, grayscale, hue, jitter, saturation, solarize
from cassle.augment.resize import choose, hflip, resized_crop

ENTRIES = np.load(Path(__file__).parents[1] / "golden" / "augment.npz")
RESAMPLE = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}
needs_pillow_13 = pytest.mark.skipif(int(PIL.__version__.split(".")[0]) < 13, reason="Pillow 12 orders its passes otherwise")


@pytest.fixture(params=["s32", "s96"])
def golden(request):
    """An entry of the golden file by name: images as (batch, 3, height, width), parameters as they are."""

    def entry(name):
        value = torch.from_numpy(ENTRIES[f"{request.param}.{name}"])
        value = value.permute(0, 3, 1, 2).contiguous() if value.ndim == 4 else value
        return value.float() if value.is_floating_point() else value

    return entry


OPERATIONS = {
    "resized_crop_bicubic": lambda g: resized_crop(g("images"), g("box_ijhw"), g("crop_jitter_flip").shape[-1]),
    "resized_crop_bilinear": lambda g: resized_crop(g("images"), g("box_ijhw"), g("crop_jitter_flip").shape[-1], "bilinear"),
    "brightness": lambda g: brightness(g("images").float(), g("factor")),
    "contrast": lambda g: contrast(g("images").float(), g("factor")),
    "saturation": lambda g: saturation(g("images").float(), g("factor")),
    "hue": lambda g: hue(g("images").float(), g("hue_shift")),
    "grayscale": lambda g: grayscale(g("images").float()),
    "solarize": lambda g: solarize(g("images").float()),
    "gaussian_blur": lambda g: gaussian_blur(g("images").float(), g("sigma")),
    "hflip": lambda g: hflip(g("images").float()),
    "jitter": lambda g: jitter(g("images").float(), g("jitter_bcsh"), g("jitter_order")),
    "crop_jitter_flip": lambda g: hflip(jitter(OPERATIONS["resized_crop_bicubic"](g), g("jitter_bcsh"), g("jitter_order"))),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_golden_pixels_are_met_exactly(name, golden):
    got, want = OPERATIONS[name](golden), golden(name).float()
    assert got.dtype == torch.float32 and got.shape == want.shape
    assert torch.equal(got, want), f"{(got != want).float().mean():.2%} differ, by up to {(got - want).abs().max():.0f}"


def noise(*shape, seed=0):
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))


def picture(image):
    return Image.fromarray(image.permute(1, 2, 0).contiguous().to(torch.uint8).numpy())


def tensor(picture):
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1).float()


def pillow_crop(image, box, size, filter):
    top, left, height, width = box.tolist()
    return tensor(picture(image).crop((left, top, left + width, top + height)).resize((size, size), RESAMPLE[filter]))


def pillow_hue(picture, factor):
    h, s, v = picture.convert("HSV").split()
    h = Image.fromarray(((np.array(h).astype(int) + int(factor * 255)) % 256).astype(np.uint8))
    return Image.merge("HSV", (h, s, v)).convert("RGB")


PILLOW = [
    lambda picture, factor: ImageEnhance.Brightness(picture).enhance(factor),
    lambda picture, factor: ImageEnhance.Contrast(picture).enhance(factor),
    lambda picture, factor: ImageEnhance.Color(picture).enhance(factor),
    pillow_hue,
]
OURS = [brightness, contrast, saturation, hue]


@needs_pillow_13
@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.data(), st.integers(1, 90), st.integers(1, 90), st.integers(12, 70), st.sampled_from(["bicubic", "bilinear"]))
def test_any_crop_of_any_image(data, height, width, size, filter):
    boxes = []
    for _ in range(4):
        h, w = data.draw(st.integers(1, height)), data.draw(st.integers(1, width))
        boxes.append([data.draw(st.integers(0, height - h)), data.draw(st.integers(0, width - w)), h, w])
    images, boxes = noise(4, 3, height, width, seed=height * width), torch.tensor(boxes)
    want = torch.stack([pillow_crop(image, box, size, filter) for image, box in zip(images, boxes)])
    assert torch.equal(resized_crop(images, boxes, size, filter), want)


def test_each_box_has_its_own_order_of_passes():
    images = noise(1, 3, 100, 60).expand(4, -1, -1, -1)
    boxes = torch.tensor([[0, 0, 100, 60], [3, 5, 70, 55], [10, 0, 80, 50], [0, 20, 31, 33]])
    crops = [picture(image[:, t : t + h, l : l + w]) for image, (t, l, h, w) in zip(images, boxes.tolist())]
    bicubic = {"resample": RESAMPLE["bicubic"]}
    wide = torch.stack([tensor(crop.resize((32, crop.height), **bicubic).resize((32, 32), **bicubic)) for crop in crops])
    tall = torch.stack([tensor(crop.resize((crop.width, 32), **bicubic).resize((32, 32), **bicubic)) for crop in crops])
    assert (wide != tall).flatten(1).any(1).all()  # the order shows
    rows_first = torch.tensor([True, False, True, False])  # 68 > 2 x 28, 38 < 2 x 23, 48 > 2 x 18, and no row to lose
    assert torch.equal(resized_crop(images, boxes, 32), choose(rows_first, tall, wide))


@pytest.mark.parametrize("side, size", [(32, 32), (96, 64), (500, 224), (7, 30)])
def test_weights_fit_the_11_bits_of_tf32(side, size):
    length = torch.arange(1, side + 1)
    mantissa, _ = torch.frexp(resize._weights(torch.zeros_like(length), length, side, size, "bicubic"))
    assert torch.equal(mantissa * 2**11, (mantissa * 2**11).round())


@needs_pillow_13
def test_an_eightfold_reduction_is_still_exact():
    images = torch.cat((noise(1, 3, 256, 256), torch.full((1, 3, 256, 256), 255, dtype=torch.uint8)))
    box = torch.tensor([[0, 0, 256, 256]] * 2)
    want = torch.stack([pillow_crop(image, box[0], 32, "bicubic") for image in images])
    assert torch.equal(resized_crop(images, box, 32), want)


def test_the_whole_image_at_its_own_size_stays():
    images = noise(3, 3, 17, 17)
    assert torch.equal(resized_crop(images, torch.tensor([[0, 0, 17, 17]] * 3), 17), images.float())


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (31, 7)])
def test_constant_images_and_single_pixels_keep_their_colour(shape):
    colour = torch.tensor([3, 128, 255], dtype=torch.uint8).view(1, 3, 1, 1)
    boxes = torch.tensor([[0, 0, *shape], [shape[0] - 1, shape[1] - 1, 1, 1]])
    crops = resized_crop(colour.expand(2, 3, *shape).contiguous(), boxes, 5)
    assert torch.equal(crops, colour.float().expand(2, 3, 5, 5))
    assert torch.equal(gaussian_blur(crops, torch.tensor([0.5, 2.0])), crops)
    assert torch.equal(contrast(grayscale(crops), torch.tensor([0.1, 2.0])), grayscale(crops))


@needs_pillow_13
@pytest.mark.parametrize("number", range(3))
def test_enhancements_at_any_factor(number):
    factor = torch.cat((torch.tensor([0.0, 1.0, 0.5, 2.0]), torch.rand(28, generator=torch.Generator().manual_seed(number)) * 3))
    images = noise(32, 3, 9, 11, seed=number).float()
    want = torch.stack([tensor(PILLOW[number](picture(image), f)) for image, f in zip(images, factor.tolist())])
    assert torch.equal(OURS[number](images, factor), want)


@needs_pillow_13
def test_hue_of_many_colours():
    lattice = torch.tensor(list(itertools.product([*range(0, 256, 9), 254, 255], repeat=3)))
    images = torch.cat((lattice.T.reshape(1, 3, -1, 1).expand(2, -1, -1, -1), noise(2, 3, len(lattice), 1)), 0).float()
    for factor in ([0.0, 0.2, -0.2, 0.003], [0.5, -0.5, 0.01, -0.01]):
        want = torch.stack([tensor(pillow_hue(picture(image), f)) for image, f in zip(images, factor)])
        assert torch.equal(hue(images, torch.tensor(factor)), want)


@needs_pillow_13
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 40), st.integers(1, 40), st.lists(st.floats(0, 6, width=32), min_size=4, max_size=4))
def test_any_blur(height, width, sigma):
    images = noise(4, 3, height, width, seed=height * width).float()
    want = torch.stack([tensor(picture(image).filter(ImageFilter.GaussianBlur(s))) for image, s in zip(images, sigma)])
    assert torch.equal(gaussian_blur(images, torch.tensor(sigma), largest=max(sigma)), want)


@needs_pillow_13
def test_jitter_takes_each_image_in_its_own_order():
    orders = torch.tensor(list(itertools.permutations(range(4))))
    factors = torch.rand(24, 4, generator=torch.Generator().manual_seed(1)) * 1.6 + 0.2
    factors[:, 3] = (factors[:, 3] - 1) / 4
    images = noise(1, 3, 8, 8).expand(24, -1, -1, -1).float()
    want = []
    for image, factor, order in zip(images, factors.tolist(), orders.tolist()):
        done = picture(image)
        for number in order:
            done = PILLOW[number](done, factor[number])
        want.append(tensor(done))
    got = jitter(images, factors, orders)
    assert torch.equal(got, torch.stack(want))
    assert not torch.equal(jitter(images, factors, orders.flip(0)), got)


def test_neutral_factors_change_nothing():
    images = noise(5, 3, 6, 6).float()
    neutral = torch.tensor([[1.0, 1.0, 1.0, 0.0]]).expand(5, -1)
    assert torch.equal(jitter(images, neutral, torch.tensor([[3, 1, 0, 2]]).expand(5, -1)), images)
    assert torch.equal(solarize(images, torch.full((5,), 256.0)), images)
    assert torch.equal(gaussian_blur(images, torch.zeros(5)), images)


@pytest.mark.parametrize("threshold", [0.0, 1.0, 100.0, 128.0, 255.0])
def test_solarize_at_any_threshold(threshold):
    ramp = torch.arange(256).view(1, 1, 16, 16).expand(1, 3, -1, -1).float()
    want = tensor(ImageOps.solarize(picture(ramp[0]), threshold))[None]
    assert torch.equal(solarize(ramp, threshold), want)
    both = solarize(ramp.repeat(2, 1, 1, 1), torch.tensor([threshold, 256.0]))
    assert torch.equal(both, torch.cat((want, ramp)))


def test_choose_is_per_sample():
    yes, no = noise(4, 3, 2, 2, seed=1).float(), noise(4, 3, 2, 2, seed=2).float()
    got = choose(torch.tensor([True, False, True, False]), yes, no)
    assert torch.equal(got, torch.stack([yes[0], no[1], yes[2], no[3]]))
