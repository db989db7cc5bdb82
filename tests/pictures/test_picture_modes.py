"""Grey data, masks, disparities and segments of real files of every pixel mode."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from PIL import Image

from mrfhw.field.problem import ProblemError
from mrfhw.pictures.images import load_disparity, load_grey, load_input, load_mask, load_segments

GREY_EVERY_PIXEL = pytest.mark.claim(
    "pictures", "grey of every pixel mode by the stated rule; disparities, segments and masks are the numbers in the file")

GREY = np.random.default_rng(0).integers(0, 256, (12, 17), dtype=np.uint8)
GREY[0, :2] = 0, 255
FINE = GREY.astype(np.uint16) * 257


def saved(tmp_path, image, kind="PNG"):
    path = tmp_path / "picture"
    if kind == "PPM" and isinstance(image, np.ndarray) and image.dtype == np.uint16:
        image = image.astype(np.int32)  # Pillow before 11 writes PGMs of 16 bits of this mode alone
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(path, kind)
    return path


def tiff(path, bits, rows, packed):
    """A grey TIFF of one strip, by hand: Pillow writes none of 12 bits."""
    tags = [(256, 3, rows[1]), (257, 3, rows[0]), (258, 3, bits), (259, 3, 1), (262, 3, 1), (273, 4, 0), (277, 3, 1),
            (278, 3, rows[0]), (279, 4, len(packed))]
    start = 8 + 2 + 12 * len(tags) + 4
    entries = b"".join(struct.pack("<HHIHH" if kind == 3 else "<HHII", tag, kind, 1, *((value, 0) if kind == 3 else
                                                                                      (start if tag == 273 else value,)))
                       for tag, kind, value in tags)
    path.write_bytes(b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4) + packed)
    return path


@GREY_EVERY_PIXEL
@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
def test_16_bits_of_full_scale_are_8(tmp_path, kind):
    path = saved(tmp_path, FINE, kind)
    assert np.array_equal(load_grey(path, 8), GREY)
    assert np.array_equal(load_grey(path, 6), GREY >> 2)
    assert np.array_equal(load_input(path, 8)[1], GREY)
    assert load_grey(saved(tmp_path, np.full((2, 2), 65535, np.uint16), kind), 8).min() == 255


def test_a_pgm_of_10_bits_has_its_own_full_scale(tmp_path):
    path = tmp_path / "a.pgm"
    path.write_bytes(b"P5 3 1 1023\n" + struct.pack(">3H", 0, 512, 1023))
    assert load_grey(path, 8).tolist() == [[0, 128, 255]]


def test_a_tiff_of_12_bits_has_its_own_full_scale(tmp_path):
    packed = bytes([0x00, 0x08, 0x00, 0xFF, 0xF0, 0x10])  # 0x000 0x800 0xFFF 0x010
    assert load_grey(tiff(tmp_path / "a.tiff", 12, (1, 4), packed), 8).tolist() == [[0, 128, 255, 1]]


@GREY_EVERY_PIXEL
def test_32_bit_integers(tmp_path):
    assert np.array_equal(load_grey(saved(tmp_path, GREY.astype(np.int32), "TIFF"), 8), GREY)
    assert np.array_equal(load_grey(saved(tmp_path, FINE.astype(np.int32), "TIFF"), 8), GREY)


@pytest.mark.parametrize(("value", "said"), [(65536, "has values from 0 to 65536"), (-1, "has values from -1 to 255"),
                                             (-(2**31), "has values from -2147483648 to 255")])
@pytest.mark.parametrize("load", [load_grey, load_input, load_segments, load_disparity])
def test_32_bit_integers_that_are_no_grey(tmp_path, load, value, said):
    values = GREY.astype(np.int32)
    values[3, 3] = value
    with pytest.raises(ProblemError, match=said + "; grey of 16 bits goes from 0 to 65535: convert it to 8 or 16 bits$") as error:
        load(saved(tmp_path, values, "TIFF"))
    assert "\n" not in str(error.value)


@GREY_EVERY_PIXEL
def test_floats(tmp_path):
    path = saved(tmp_path, GREY.astype(np.float32) - np.where(GREY > 0, 0.25, 0).astype(np.float32), "TIFF")
    assert np.array_equal(load_grey(path, 8), GREY)
    data, picture = load_input(path, 6)
    assert np.array_equal(data, GREY >> 2)
    assert np.array_equal(picture, GREY)
    assert not load_grey(saved(tmp_path, np.zeros((3, 3), np.float32), "TIFF")).any()


@pytest.mark.parametrize(("value", "said"), [(255.5, "to 255.5; grey goes"), (-0.5, "from -0.5"), (np.nan, "no finite numbers"),
                                             (np.inf, "no finite numbers"), (1e30, "to 1e\\+30")])
def test_floats_that_are_no_grey(tmp_path, value, said):
    values = GREY.astype(np.float32)
    values[3, 3] = value
    with pytest.raises(ProblemError, match=said):
        load_grey(saved(tmp_path, values, "TIFF"))


def test_floats_up_to_1_are_not_taken_for_black(tmp_path):
    assert np.array_equal(load_grey(saved(tmp_path, GREY.astype(np.float32) / 255, "TIFF"), 8), GREY)


def picture_of(mode):
    if mode == "P":
        image = Image.fromarray(GREY, "P")
        image.putpalette([v for n in range(256) for v in (255 - n,) * 3])  # the indices are not the greys
        return image, 255 - GREY.astype(int)
    if mode == "1":
        return Image.fromarray(GREY > 99), (GREY > 99) * 255
    image = Image.fromarray(GREY)
    if mode in ("LA", "RGBA"):
        image = image.convert(mode)
        image.putalpha(255)
        return image, GREY
    return image.convert(mode), GREY


@GREY_EVERY_PIXEL
@pytest.mark.filterwarnings("ignore:'mode' parameter is deprecated:DeprecationWarning")
@pytest.mark.parametrize(("mode", "kind"), [
    ("1", "PNG"), ("1", "TIFF"), ("L", "PNG"), ("LA", "PNG"), ("P", "PNG"), ("P", "TIFF"), ("RGB", "PNG"), ("RGBA", "PNG"),
    ("RGBA", "TIFF"), ("CMYK", "TIFF")])
def test_other_modes(tmp_path, mode, kind):
    image, grey = picture_of(mode)
    path = saved(tmp_path, image, kind)
    with Image.open(path) as back:
        assert back.mode == mode
    data, picture = load_input(path, 8)
    assert np.array_equal(data, grey)
    assert np.array_equal(picture if picture.ndim == 2 else picture[..., 0], grey)
    assert np.array_equal(load_mask(path), grey != 0)


def test_a_mode_that_cannot_be_made_grey(tmp_path):
    for load in (load_grey, load_input, load_mask):
        with pytest.raises(ProblemError, match="mode LAB; they cannot be made grey"):
            load(saved(tmp_path, Image.new("LAB", (4, 4)), "TIFF"))


@GREY_EVERY_PIXEL
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32, np.float32])
def test_masks_are_false_where_black_whatever_the_bits(tmp_path, kind):
    dark = (GREY > 128).astype(kind)  # 1, which is black of 16 bits once it is 8
    assert np.array_equal(load_mask(saved(tmp_path, dark, "TIFF")), GREY > 128)


def test_a_mask_of_strange_floats(tmp_path):
    with pytest.raises(ProblemError, match="no finite numbers"):
        load_mask(saved(tmp_path, np.full((3, 3), np.nan, np.float32), "TIFF"))


@GREY_EVERY_PIXEL
@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
def test_disparities_and_segments_are_the_numbers_in_the_file(tmp_path, kind):
    """Not scaled as grey is."""
    values = GREY.astype(np.uint16) * 200 + 3
    assert np.array_equal(load_disparity(saved(tmp_path, values, kind), 256), values / 256)
    assert np.array_equal(load_segments(saved(tmp_path, values, kind)), values)
    assert np.array_equal(load_disparity(saved(tmp_path, GREY, kind), 4), GREY / 4)
    wide = saved(tmp_path, GREY.astype(np.int32), "TIFF")
    assert np.array_equal(load_disparity(wide, 4), GREY / 4)
    assert np.array_equal(load_segments(wide), GREY)
