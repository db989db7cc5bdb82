"""Which value is white: floats, fewer bits than a file could hold, narrow ranges; arrays, transparency and orientation."""

from __future__ import annotations

import json
import re
import struct
import zlib

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mrfhw.cli import main
from mrfhw.field.problem import ProblemError
from mrfhw.pictures.images import Reading, crop, grey_data, load_grey, load_input, load_inputs, load_mask

PICTURES_FLOATS_BITS = pytest.mark.claim("applications",
    "pictures of floats, of 12 bits in 16, of few greys, lists, alpha and EXIF orientation are read as they are meant, or refused "
    "in one line")

GREY = np.random.default_rng(0).integers(0, 256, (12, 17), dtype=np.uint8)
GREY[0, :2] = 0, 255


def saved(path, values, **options):
    if path.suffix == ".pgm" and values.dtype == np.uint16:
        values = values.astype(np.int32)  # Pillow before 11 writes PGMs of 16 bits of this mode alone
    (values if isinstance(values, Image.Image) else Image.fromarray(np.asarray(values))).save(path, **options)
    return path


def named(paths):
    return {str(path): path for path in paths}


def refused(message, call, *arguments, **options):
    """The call is answered with one line that ends as `message`, a text."""
    with pytest.raises(ProblemError) as error:
        call(*arguments, **options)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(message), str(error.value)


def colour_png(path, values):
    """A PNG of 16-bit colour from (H, W, 3), by hand: Pillow writes none."""
    rows, cols = values.shape[:2]
    lines = b"".join(b"\0" + line.astype(">u2").tobytes() for line in values)
    parts = ((b"IHDR", struct.pack(">IIBBBBB", cols, rows, 16, 2, 0, 0, 0)), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts))
    return path


# Floats

@PICTURES_FLOATS_BITS
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_floats_from_0_to_1_are_scaled(tmp_path, kind):
    scaled = (GREY / 255).astype(kind)
    assert np.array_equal(grey_data(scaled, data_bits=8)[0], GREY)
    assert np.array_equal(grey_data(scaled)[0], GREY >> 2)
    path = saved(tmp_path / "a.tiff", scaled.astype(np.float32))
    data, picture = load_input(path, 6)
    assert np.array_equal(data, GREY >> 2)
    assert np.array_equal(picture, GREY)


def test_floats_of_one_dark_grey_and_of_black_and_white():
    assert grey_data(np.full((2, 2), 0.5), data_bits=8)[0].tolist() == [[128, 128]] * 2
    assert grey_data([[0.0, 1.0]], data_bits=8)[0].tolist() == [[0, 255]]
    assert not grey_data(np.zeros((2, 2)))[0].any()


@pytest.mark.parametrize(("most", "way_out"), [(1.004, "cut it off at 1, or give depth 8 if 255 is white"),
                                               (9.5, "cut it off at 1, or give depth 8 if 255 is white"),
                                               (256.0, "convert it to 8-bit grey, or give depth"),
                                               (np.inf, "convert it to 8-bit grey")])
def test_floats_of_no_scale(tmp_path, most, way_out):
    values = np.array([[0.25, most]], np.float32)
    for call, given in ((load_grey, saved(tmp_path / "a.tiff", values)), (grey_data, values)):
        refused(way_out, call, given)


def test_floats_with_a_depth(tmp_path):
    path = saved(tmp_path / "a.tiff", np.array([[0, 1, 4.4, 255]], np.float32))
    assert load_grey(path, 8, Reading(depth=8)).tolist() == [[0, 1, 4, 255]]
    dark = np.array([[0.25, 9.5]], np.float32)
    assert grey_data(dark, data_bits=8, depth=8)[0].tolist() == [[0, 10]]
    deep = np.array([[0, 2048, 4095]], np.float32)
    assert grey_data(deep, data_bits=8, depth=12)[0].tolist() == [[0, 128, 255]]
    refused("depth 12 goes to 4095: leave depth out for floats from 0 to 1", grey_data, np.array([[0.25, 1]]), depth=12)


# Fewer bits than the file could hold

@PICTURES_FLOATS_BITS
@pytest.mark.parametrize(("most", "way_out"), [
    (1, "give depth 8, or depth 16 if it is that dark"), (255, "give depth 8, or depth 16 if it is that dark"),
    (1023, "give depth 10, or depth 16 if it is that dark"), (4095, "give depth 12, or depth 16 if it is that dark"),
    (4096, "give depth 14, or depth 16 if it is that dark"), (16383, "give depth 14, or depth 16 if it is that dark")])
@pytest.mark.parametrize("kind", ["png", "tiff", "pgm"])
def test_16_bits_that_hold_fewer(tmp_path, kind, most, way_out):
    """Of 12 bits only two came through at a width of 6."""
    path = saved(tmp_path / f"a.{kind}", np.array([[0, most]], np.uint16))
    refused(f"{path} has values up to {most}; 16-bit grey goes to 65535: {way_out}", load_grey, path)
    bits = int(re.findall(r"depth (\d+)", way_out)[0])
    assert load_grey(path, 8, Reading(depth=bits)).tolist() == [[0, most >> bits - 8]]
    assert load_grey(path, 8, Reading(depth=16)).tolist() == [[0, most >> 8]]


def test_16_bits_in_full_and_black_are_as_ever(tmp_path):
    for values in (np.array([[0, 16384]]), np.array([[0, 65535]]), np.zeros((1, 2))):
        values = values.astype(np.uint16)
        assert np.array_equal(load_grey(saved(tmp_path / "a.png", values), 8), values >> 8)
        assert np.array_equal(grey_data(values, data_bits=8)[0], values >> 8)


@pytest.mark.parametrize("values", [np.array([[0, 300]], np.int32), np.array([[0, 4095]], np.int64), [[0, 4095]]])
def test_wider_numbers_that_hold_fewer(tmp_path, values):
    most = int(np.max(values))
    refused("or depth 16 if it is that dark", grey_data, values)
    assert grey_data(values, data_bits=8, depth=12)[0].tolist() == [[0, most >> 4]]
    if np.asarray(values).dtype == np.int32:
        refused("give depth 10, or depth 16 if it is that dark", load_grey, saved(tmp_path / "a.tiff", values))


@pytest.mark.parametrize("depth", [4, 6, 7])
def test_few_bits_in_8(tmp_path, depth):
    values = np.arange(1 << depth, dtype=np.uint8)[None]
    path = saved(tmp_path / "a.png", values)
    assert np.array_equal(load_grey(path, 8), values)
    assert np.array_equal(load_grey(path, depth, Reading(depth=depth)), values)
    assert load_grey(path, 8, Reading(depth=depth)).max() == 255


@pytest.mark.parametrize(("depth", "message"), [
    (0, "depth is 0; the limits are 1 to 16: give the bits of one grey value"),
    (17, "depth is 17; the limits are 1 to 16: give the bits of one grey value"),
    (7, "picture has values up to 255; depth 7 goes to 127: give a greater depth"),
    (12, "depth is 12; picture has 8 bits: give pictures of one depth, or leave depth out")])
def test_depths_refused(depth, message):
    refused(message, grey_data, GREY, depth=depth)


def test_what_the_file_states_is_no_guess(tmp_path):
    path = tmp_path / "a.pgm"
    path.write_bytes(b"P5 3 1 1023\n" + struct.pack(">3H", 0, 20, 200))  # dark, by its own words
    assert load_grey(path, 8).tolist() == [[0, 5, 50]]
    assert load_grey(path, 8, Reading(depth=10)).tolist() == [[0, 5, 50]]
    refused(f"depth is 12; {path} itself says that its white is 1023: leave depth out", load_grey, path, 8, Reading(depth=12))
    path.write_bytes(b"P5 3 1 15\n" + bytes([0, 5, 15]))
    assert load_grey(path, 8).tolist() == load_grey(path, 8, Reading(depth=4)).tolist() == [[0, 85, 255]]
    path.write_bytes(b"P6 1 1 1023\n" + struct.pack(">3H", 1023, 1023, 1023))
    assert load_grey(path, 8).tolist() == [[255]]


def test_colour_of_16_bits(tmp_path):
    """Pillow reads the upper byte alone, so colour of fewer bits cannot be read."""
    colour = np.random.default_rng(1).integers(0, 256, (5, 6, 3))
    colour[0, 0] = 255
    full = colour_png(tmp_path / "full.png", colour * 257)
    assert np.array_equal(load_grey(full, 8), np.asarray(Image.fromarray(colour.astype(np.uint8)).convert("L")))
    assert np.array_equal(load_grey(full, 8, Reading(depth=16)), load_grey(full, 8))
    dark = colour_png(tmp_path / "dark.png", colour * 16)
    way_out = "convert it to 16-bit grey, or to 8 bits"
    refused(f"of which the upper 8 bits are read; the greatest is 15: {way_out}", load_grey, dark)
    refused(f"of which the upper 8 bits are read; depth is 12: {way_out}", load_grey, dark, 6, Reading(depth=12))
    assert load_grey(dark, 8, Reading(depth=16)).max() == 15


# Pairs

@PICTURES_FLOATS_BITS
def test_a_pair_has_one_depth(tmp_path):
    left = saved(tmp_path / "l.png", np.array([[0, 900]], np.uint16))
    right = saved(tmp_path / "r.png", np.array([[0, 4000]], np.uint16))
    refused("l.png has values up to 900; 16-bit grey goes to 65535: give depth 12, or depth 16 if it is that dark",
            load_inputs, named([left, right]))
    found = load_inputs(named([left, right]), 8, Reading(depth=12))
    assert [data.tolist() for data in found.data] == [[[0, 56]], [[0, 250]]]
    bright = saved(tmp_path / "b.png", np.array([[0, 60000]], np.uint16))
    refused("16-bit grey goes to 65535: give depth 16 if it is that dark", load_inputs, named([bright, left]))
    assert [data.tolist() for data in load_inputs(named([bright, left]), 8, Reading(depth=16)).data] == [[[0, 234]], [[0, 3]]]


@pytest.mark.parametrize(("first", "second"), [(np.array([[0, 0.5]]), np.array([[0, 200.0]])),
                                               (np.array([[0, 200]]), np.array([[0, 40000]]))])
def test_a_pair_without_one_scale(first, second):
    for pair in ((first, second), (second, first)):
        refused("the pictures of a run have one scale: give depth, or scale one of them", grey_data, *pair)
    assert [data.max() for data in grey_data(first * 0, second)] == [0, grey_data(second)[0].max()]


@PICTURES_FLOATS_BITS
def test_a_stretch_is_one_map_for_all(tmp_path):
    left, right = np.array([[100, 110, 118]], np.uint8), np.array([[102, 110, 120]], np.uint8)
    paths = [saved(tmp_path / "l.png", left), saved(tmp_path / "r.png", right)]
    found = load_inputs(named(paths), 8, Reading(stretch=True))
    assert [data.tolist() for data in found.data] == [[[0, 128, 230]], [[26, 128, 255]]]
    assert [picture.tolist() for picture in found.pictures] == [data.tolist() for data in found.data]
    assert [data.tolist() for data in load_inputs(named(paths), 6, Reading(stretch=True)).data] == [[[0, 32, 57]], [[6, 32, 63]]]
    assert [data.tolist() for data in grey_data(left, right, data_bits=8, stretch=True)] == [data.tolist() for data in found.data]
    assert (found.range, found.stretched, found.narrow) == (pytest.approx((100, 120)), True, False)
    alone = load_inputs(named(paths[:1]), 8, Reading(stretch=True), also=named(paths[1:]))  # cut off where the first ends
    assert [data.tolist() for data in alone.data] == [[[0, 142, 255]], [[28, 142, 255]]]
    assert alone.range == pytest.approx((100, 118))


def test_a_stretch_keeps_the_bits_of_16(tmp_path):
    path = saved(tmp_path / "a.png", np.array([[30000, 30100, 30255]], np.uint16))
    assert load_grey(path, 8).tolist() == [[117, 117, 118]]
    assert load_grey(path, 8, Reading(stretch=True)).tolist() == [[0, 100, 255]]


def test_a_stretch_of_colour(tmp_path):
    colour = np.array([[[90, 100, 110], [120, 120, 120]]], np.uint8)
    data, picture = load_input(saved(tmp_path / "a.png", colour), 8, Reading(stretch=True))
    assert data.tolist() == [[0, 255]]
    low = np.asarray(Image.fromarray(colour).convert("L"))[0, 0]
    expected = np.rint(np.clip((colour / 255 - low / 255) / (120 / 255 - low / 255), 0, 1) * 255)
    assert np.array_equal(picture, expected)


def test_a_stretch_of_one_grey(tmp_path):
    path = saved(tmp_path / "a.png", np.full((3, 3), 7, np.uint8))
    refused("a.png has one grey, 7 of 255; a stretch needs two: leave stretch out", load_grey, path, 6, Reading(stretch=True))
    refused("picture 1 and picture 2 have one grey, 7 of 255; a stretch needs two: leave stretch out",
            grey_data, *[np.full((3, 3), 7)] * 2, stretch=True)


@pytest.mark.parametrize(("low", "high", "narrow"), [(100, 120, True), (100, 163, True), (100, 164, False), (7, 7, False),
                                                     (0, 255, False)])
def test_narrow_ranges_are_told(tmp_path, low, high, narrow):
    paths = [saved(tmp_path / f"{grey}.png", np.full((2, 2), grey, np.uint8)) for grey in (low, high)]
    assert load_inputs(named(paths)).narrow == narrow


# Arrays

def test_arrays_and_lists_of_every_kind():
    for given in (GREY, GREY.tolist(), GREY.astype(int), GREY.astype(np.int32), GREY.astype(np.uint16) * 257,
                  GREY.astype(np.float32), (GREY / 255).tolist(), Image.fromarray(GREY), np.repeat(GREY[..., None], 3, 2)):
        found = grey_data(given, data_bits=8)
        assert len(found) == 1
        assert found[0].dtype == np.uint8
        assert np.array_equal(found[0], GREY)
    assert np.array_equal(grey_data(GREY > 99, data_bits=8)[0], (GREY > 99) * 255)


@pytest.mark.parametrize("scale", [1, 257, 1 / 255])
def test_colour_arrays(scale):
    colour = np.random.default_rng(1).integers(0, 256, (5, 6, 3), dtype=np.uint8)
    colour[0, 0] = 255
    grey = np.asarray(Image.fromarray(colour).convert("L")).astype(int)
    given = colour if scale == 1 else colour * np.array(scale, np.uint16 if scale == 257 else float)
    assert np.abs(grey_data(given, data_bits=8)[0] - grey).max() <= (0 if scale == 1 else 1)
    opaque = np.dstack([given, np.full((5, 6), given.max())])
    assert np.array_equal(grey_data(opaque)[0], grey_data(given)[0])
    refused("all pixels must be opaque: put the picture on a background, or leave alpha out", grey_data,
            np.dstack([given, given[..., 0]]))


@pytest.mark.parametrize(("given", "message"), [
    ([[1, 2], [3]], "give a NumPy array"), ([["a"]], "give an array of them"), (np.zeros((2, 2), complex), "give an array of them"),
    (None, "give an array of them"), ([1, 2], "give one of them"), (np.zeros((2, 2, 2)), "give one of them"),
    (np.zeros((0, 4)), "give one of them"), (7, "give one of them"), ([[0, -1]], "scale it"), ([[0, 70000]], "scale it"),
    ([[0.0, -0.5]], "convert it to 8-bit grey"), (np.ma.masked_equal([[1, 2]], 2), "fill them in")])
def test_arrays_that_are_no_pictures(given, message):
    refused(message, grey_data, given)


def test_no_picture_at_all():
    refused("at least 1 is needed: give one", grey_data)


def test_a_window_of_a_list():
    assert np.array_equal(crop(GREY.tolist(), (3, 2, 5, 4)), GREY[2:6, 3:8])
    refused("the image has 17x12 pixels: give a window inside it", crop, GREY.tolist(), (16, 0, 2, 1))


# Transparency

@PICTURES_FLOATS_BITS
@pytest.mark.parametrize("mode", ["LA", "RGBA"])
@pytest.mark.parametrize("kind", ["png", "tiff"])
@pytest.mark.parametrize("load", [load_grey, load_input, load_mask])
def test_alpha(tmp_path, mode, kind, load):
    image = Image.fromarray(GREY).convert(mode)
    opaque, plain = load(saved(tmp_path / f"a.{kind}", image)), load(saved(tmp_path / "b.png", GREY))
    assert np.array_equal(*((opaque[0], plain[0]) if load is load_input else (opaque, plain)))
    alpha = np.full(GREY.shape, 255, np.uint8)
    alpha[3, 4:6] = 254, 0
    image.putalpha(Image.fromarray(alpha))
    refused("has 2 transparent pixels; all must be opaque: put the picture on a background, or remove its transparency",
            load, saved(tmp_path / f"a.{kind}", image))


@pytest.mark.parametrize("values", [GREY, GREY.astype(np.uint16) * 257, np.dstack([GREY] * 3), "P"])
def test_one_transparent_colour(tmp_path, values):
    if isinstance(values, str):
        image, clear, absent = Image.fromarray(GREY).convert("P"), 255, int(np.setdiff1d(np.arange(256), GREY)[0])
    else:
        image = Image.fromarray(values)
        unused = int(np.setdiff1d(np.arange(256), GREY)[0])
        white, none = int(values.max()), unused * (257 if values.dtype == np.uint16 else 1)
        clear, absent = ((white,) * 3, (none,) * 3) if values.ndim == 3 else (white, none)
    plain = load_grey(saved(tmp_path / "plain.png", image))
    assert np.array_equal(load_grey(saved(tmp_path / "a.png", image, transparency=absent)), plain)
    refused("put the picture on a background, or remove its transparency", load_grey,
            saved(tmp_path / "a.png", image, transparency=clear))


# Orientation

@PICTURES_FLOATS_BITS
@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize(("kind", "values"), [("png", GREY), ("tiff", GREY), ("png", GREY.astype(np.uint16) * 257),
                                              ("png", np.dstack([GREY, GREY, GREY]))])
def test_pictures_are_turned_as_exif_says(tmp_path, turn, kind, values):
    upright = (GREY, np.fliplr(GREY), np.rot90(GREY, 2), np.flipud(GREY), GREY.T, np.rot90(GREY, -1), np.rot90(GREY.T, 2),
               np.rot90(GREY))[turn - 1]
    exif = Image.Exif()
    exif[0x0112] = turn
    path = saved(tmp_path / f"a.{kind}", values, exif=exif)
    assert np.array_equal(load_grey(path, 8), upright)
    assert np.array_equal(load_input(path, 8)[1].reshape(*upright.shape, -1)[..., 0], upright)
    assert np.array_equal(load_mask(path), upright > 0)


def test_a_jpeg_is_turned_and_broken_exif_is_passed_over(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    smooth = np.linspace(0, 255, 64 * 48).reshape(48, 64).astype(np.uint8)
    plain = load_grey(saved(tmp_path / "a.jpg", smooth), 8)
    assert np.array_equal(load_grey(saved(tmp_path / "b.jpg", smooth, exif=exif), 8), np.rot90(plain, -1))
    for broken in (b"Exif\0\0MM", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0" + bytes(9)):
        assert np.array_equal(load_grey(saved(tmp_path / "c.jpg", smooth, exif=broken), 8), plain)


# The command line, of one picture

def segment(*arguments):
    return CliRunner().invoke(main, ["run", "segment", *map(str, arguments), "--sweeps", "4"], prog_name="mrfhw")


@pytest.mark.slow
def test_segment_takes_a_depth(tmp_path):
    values = np.random.default_rng(0).integers(0, 4096, (12, 16))
    path = saved(tmp_path / "a.png", values.astype(np.uint16))
    result = segment(path, "-o", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: {path} has values up to {values.max()}; 16-bit grey goes to 65535: " \
                            "give depth 12, or depth 16 if it is that dark\n"
    result = segment(path, "--depth", 12, "-o", tmp_path / "out")
    assert (result.exit_code, result.stderr) == (0, "")
    same = saved(tmp_path / "b.png", (values >> 4).astype(np.uint8))
    assert segment(same, "-o", tmp_path / "same").exit_code == 0
    assert np.array_equal(np.load(tmp_path / "out" / "labels.npy"), np.load(tmp_path / "same" / "labels.npy"))
    assert json.loads((tmp_path / "out" / "report.json").read_text())["settings"]["depth"] == 12


@pytest.mark.tools
def test_segment_stretches_and_says_so(tmp_path):
    path = saved(tmp_path / "a.png", np.random.default_rng(0).integers(100, 121, (12, 16)).astype(np.uint8))
    said = f"Note: the grey of {path} is 100 to 120 of 0 to 255"
    result = segment(path, "-o", tmp_path / "out")
    assert (result.exit_code, result.stderr) == (0, f"{said}: stretch would use all of it\n")
    settings = json.loads((tmp_path / "out" / "report.json").read_text())["settings"]
    assert (settings["stretch"], settings["stretched_from"]) == (False, None)
    result = segment(path, "--stretch", "-o", tmp_path / "out")
    assert (result.exit_code, result.stderr) == (0, f"{said}, stretched to all of it\n")
    settings = json.loads((tmp_path / "out" / "report.json").read_text())["settings"]
    assert (settings["stretch"], settings["stretched_from"]) == (True, pytest.approx([100, 120]))
    # A mistake is one line, without the note.
    result = segment(path, "--stretch", "-o", "/dev/null/x")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    verified = CliRunner().invoke(main, ["verify", "segment", str(path), "--sweeps", "0"], prog_name="mrfhw")
    assert (verified.exit_code, verified.stderr.count("\n")) == (2, 1)


def test_segment_says_what_one_segment_would_have(tmp_path):
    values = np.random.default_rng(0).integers(0, 256, (12, 16), dtype=np.uint8)
    truth = saved(tmp_path / "t.png", np.repeat([[1, 2]], 12, 0).repeat(8, 1).astype(np.uint8))
    result = segment(saved(tmp_path / "a.png", values), "--truth", truth, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    metrics = json.loads((tmp_path / "out" / "report.json").read_text())["metrics"]
    assert set(metrics) == {"vi", "vi_classes", "vi_single"}
    assert metrics["vi_single"] == pytest.approx(1)  # one bit says which half
    assert metrics["vi"] > 1
    assert "1.000" in result.stdout
    assert "single" in result.stdout


def test_a_colour_below_0_is_refused_where_its_grey_is_not():
    colour = np.random.default_rng(0).random((8, 9, 3))
    colour[0, 0] = (1, 1, -0.5)
    with pytest.raises(ProblemError, match=r"^picture has values from -0\.5 to 1; grey goes from 0 to 1 or from 0 to 255"):
        grey_data(colour)
