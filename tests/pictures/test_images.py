"""Pictures in, and every way in which a file can be wrong."""

import io

import numpy as np
import pytest
from PIL import Image

from mrfhw.field.problem import ProblemError
from mrfhw.pictures import files
from mrfhw.pictures.images import crop, load_disparity, load_grey, parse_window

GREY = np.random.default_rng(0).integers(0, 256, (12, 17), dtype=np.uint8)


def one_line(error):
    text = str(error.value)
    assert "\n" not in text
    assert ": " in text
    return text


def encoded(data, kind, **options):
    buffer = io.BytesIO()
    Image.fromarray(data).save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "PPM", "BMP", "TIFF"])
@pytest.mark.parametrize("bits", [1, 6, 8])
def test_grey_data_of_the_width(tmp_path, kind, bits):
    (tmp_path / "a").write_bytes(encoded(GREY, kind))
    data = load_grey(tmp_path / "a", bits)
    assert data.dtype == np.uint8
    assert np.array_equal(data, GREY >> (8 - bits))


def test_colour_is_pillows_l(tmp_path):
    colour = np.random.default_rng(1).integers(0, 256, (5, 6, 3), dtype=np.uint8)
    (tmp_path / "a.png").write_bytes(encoded(colour, "PNG"))
    assert np.array_equal(load_grey(tmp_path / "a.png", 6), np.asarray(Image.fromarray(colour).convert("L")) >> 2)


@pytest.mark.parametrize("kind", ["PNG", "PPM", "TIFF"])
def test_sixteen_bits_give_the_upper_byte(tmp_path, kind):
    (tmp_path / "a").write_bytes(encoded(GREY.astype(np.uint16) * 256 + 77, kind))
    assert np.array_equal(load_grey(tmp_path / "a", 8), GREY)


def test_disparity_of_8_and_16_bits(tmp_path):
    (tmp_path / "a.png").write_bytes(encoded(GREY, "PNG"))
    (tmp_path / "b.png").write_bytes(encoded(GREY.astype(np.uint16) * 200, "PNG"))
    assert np.array_equal(load_disparity(tmp_path / "a.png", 4), GREY / 4)
    assert np.array_equal(load_disparity(tmp_path / "b.png", 100), GREY * 2.0)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_scale_that_is_none(tmp_path, scale):
    (tmp_path / "a.png").write_bytes(encoded(GREY, "PNG"))
    with pytest.raises(ProblemError, match="truth-scale is") as error:
        load_disparity(tmp_path / "a.png", scale)
    one_line(error)


def test_disparity_in_colour(tmp_path):
    (tmp_path / "a.png").write_bytes(encoded(np.zeros((4, 4, 3), np.uint8), "PNG"))
    with pytest.raises(ProblemError, match="mode RGB") as error:
        load_disparity(tmp_path / "a.png", 4)
    one_line(error)


def test_missing_directory_empty_and_text(tmp_path):
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.png").write_text("not a picture")
    for name, message in (("none.png", "No such file"), (".", "Is a directory"), ("empty.png", "0 bytes"),
                          ("text.png", "not an image")):
        with pytest.raises(ProblemError, match=message) as error:
            load_grey(tmp_path / name)
        one_line(error)


@pytest.mark.parametrize("kind", ["PNG", "PPM", "BMP", "TIFF", "JPEG"])
def test_a_file_cut_anywhere(tmp_path, kind):
    """PNG, whose end is marked, at every byte; the others wherever a part of the pixels is gone."""
    whole = encoded(GREY, kind)
    # A JPEG is complete a little before its end; a BMP of 17 columns ends in 3 bytes of padding.
    last = {"PNG": len(whole) - 5, "JPEG": len(whole) - 20, "BMP": len(whole) - 4}.get(kind, len(whole) - 1)
    for length in range(1, last + 1):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(ProblemError) as error:
            load_grey(tmp_path / "cut")
        one_line(error)


def test_a_png_with_a_flipped_byte(tmp_path):
    whole = encoded(GREY, "PNG")
    for place in range(40, len(whole) - 12, 7):
        (tmp_path / "bad.png").write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with pytest.raises(ProblemError) as error:
            load_grey(tmp_path / "bad.png")
        one_line(error)


def test_too_many_pixels(tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(encoded(GREY, "PNG"))
    for limit, pillows, said in ((203, 10**6, "is 17x12, 204 pixels; the limit is 203: scale it down, or cut it$"),
                                 (203, 50, "has more than 203 pixels, the limit: scale it down, or cut it$")):
        monkeypatch.setattr(files, "PIXELS_MAX", limit)
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", pillows)
        with pytest.raises(ProblemError, match=said) as error:
            load_grey(tmp_path / "a.png")
        one_line(error)
    (tmp_path / "a.tiff").write_bytes(encoded(GREY.astype(np.float32), "TIFF"))
    monkeypatch.setattr(files, "PIXELS_MAX", 407)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10**6)
    with pytest.raises(ProblemError, match=r"204 pixels; the limit is 203"):  # half as many of floats
        load_grey(tmp_path / "a.tiff")
    assert load_grey(tmp_path / "a.png").shape == (12, 17)


def test_window():
    assert parse_window("3,2,5,4") == (3, 2, 5, 4)
    assert np.array_equal(crop(GREY, (3, 2, 5, 4)), GREY[2:6, 3:8])
    assert crop(GREY, None) is GREY
    assert np.array_equal(crop(GREY, (0, 0, 17, 12)), GREY)


@pytest.mark.parametrize("text", ["", "1,2,3", "1,2,3,4,5", "a,0,1,1", "1.5,0,1,1", "0,0,0,4", "0,0,4,-1"])
def test_window_that_is_none(text):
    with pytest.raises(ProblemError, match="window is") as error:
        parse_window(text)
    one_line(error)


@pytest.mark.parametrize("window", [(-1, 0, 2, 2), (0, -1, 2, 2), (16, 0, 2, 1), (0, 11, 1, 2), (99, 0, 1, 1)])
def test_window_outside(window):
    with pytest.raises(ProblemError, match="the left image has 17x12 pixels") as error:
        crop(GREY, window, "left image")
    one_line(error)
