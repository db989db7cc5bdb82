"""Files that are easily taken for something else: each is read as it is meant, with a line that says how, or refused in one."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from mrfhw.field.problem import ProblemError
from mrfhw.pictures import files
from mrfhw.pictures.images import grey_data, load_grey, load_inputs
from mrfhw.pictures.numbers import (
    known_disparity,
    known_mask,
    known_segments,
    load_disparity,
    load_mask,
    load_segments,
    segments_of,
)

READ_AS_MEANT = pytest.mark.claim("pictures",
    "palettes, byte orders, signs, several pictures in a file, white below black, fewer bits and void numbers are read as they are "
    "meant and said, or refused in one line")

GREY = np.random.default_rng(3).integers(0, 250, (6, 8), dtype=np.uint8)


def written(path, data):
    path.write_bytes(data)
    return path


def saved(path, image, **options):
    image.save(path, **options)
    return path


def png(path, bits, kind, lines, shape, *chunks):
    """By hand, of packed lines: Pillow writes no grey of 2 and 4 bits, and no colour of 16."""
    parts = [(b"IHDR", struct.pack(">IIBBBBB", shape[1], shape[0], bits, kind, 0, 0, 0)), *chunks,
             (b"IDAT", zlib.compress(b"".join(b"\0" + line for line in lines))), (b"IEND", b"")]
    return written(path, b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts))


def tiff(path, *pages, bits=8, white_is=1, form=1, kinds=()):
    """Grey pages of one strip each, little-endian. kinds: NewSubfileType of each."""
    out, last = bytearray(b"II*\0\0\0\0\0"), 4
    for number, page in enumerate(pages):
        data, start = page.astype({8: "u1", 16: "<u2", 32: "<f4"}[bits]).tobytes(), len(out)
        out += data + bytes(len(data) % 2)
        tags = [(254, 4, kinds[number] if kinds else 0), (256, 4, page.shape[1]), (257, 4, page.shape[0]), (258, 3, bits),
                (259, 3, 1), (262, 3, white_is), (273, 4, start), (277, 3, 1), (278, 4, page.shape[0]), (279, 4, len(data)),
                (339, 3, form)]
        struct.pack_into("<I", out, last, len(out))
        out += struct.pack("<H", len(tags)) + b"".join(
            struct.pack("<HHII" if kind == 4 else "<HHIHxx", tag, kind, 1, value) for tag, kind, value in tags)
        last = len(out)
        out += bytes(4)
    return written(path, bytes(out))


def pfm(path, values, scale="-1.0", end="\n", magic="Pf", order="<"):
    head = f"{magic}{end}{values.shape[1]} {values.shape[0]}{end}{scale}{end}".encode()
    return written(path, head + np.flipud(values).astype(f"{order}f4").tobytes())


def palette(path, indices, colours):
    image = Image.fromarray(indices)
    image.putpalette(np.asarray(colours, np.uint8).tobytes())
    return saved(path, image)


COLOURS = [(n, 255 - n, n * 7 % 256) for n in range(256)]


def refused(said, call, *arguments):
    with pytest.raises(ProblemError, match=said) as error:
        call(*arguments)
    assert "\n" not in str(error.value)


# Palettes

@READ_AS_MEANT
def test_numbers_of_a_palette_are_its_indices(tmp_path):
    path = palette(tmp_path / "a.png", GREY, COLOURS)
    found = known_disparity(path, 8, "truth")
    assert np.array_equal(found.values, GREY / 8)
    assert found.notes == (f"Note: {path} has a palette of colours: its indices are read, not their grey",)
    assert np.array_equal(load_disparity(path, 8), GREY / 8)
    assert np.array_equal(load_segments(path), GREY)
    assert not known_segments(path, "truth").notes
    assert np.array_equal(load_grey(path, 8), np.asarray(Image.open(path).convert("L")))


def test_a_palette_of_greys(tmp_path):
    """Programs that make PNGs smaller write grey so: indices and greys may be the same, or either may be meant."""
    same = palette(tmp_path / "a.png", GREY, [(n, n, n) for n in range(256)])
    assert np.array_equal(load_disparity(same), GREY)
    assert not known_disparity(same, 1, "truth").notes
    other = palette(tmp_path / "b.png", GREY % 3, [(80 * n, 80 * n, 80 * n) for n in range(3)])
    refused("greys that are other numbers than its indices, .*: save it as grey without a palette$", load_disparity, other)
    found = known_segments(other, "truth")
    assert np.array_equal(found.values, GREY % 3)
    assert found.notes == (f"Note: {other} has a palette of greys that are other numbers than its indices: its indices are read",)


# Fewer bits

@READ_AS_MEANT
@pytest.mark.parametrize(("bits", "line", "wanted"), [(1, b"\x50", [0, 1, 0, 1]), (2, b"\x1b", [0, 1, 2, 3]),
                                                      (4, b"\x01\x2f", [0, 1, 2, 15])])
def test_greys_of_few_bits(tmp_path, bits, line, wanted):
    """Numbers are not spread to 255, greys are."""
    path = png(tmp_path / "a.png", bits, 0, [line], (1, 4))
    assert load_segments(path).tolist() == [wanted]
    assert load_mask(path).tolist() == [[n > 0 for n in wanted]]
    assert load_grey(path, 8).tolist() == [[n * (255 // (2**bits - 1)) for n in wanted]]
    if bits > 1:
        assert load_disparity(path, 2).tolist() == [[n / 2 for n in wanted]]


@READ_AS_MEANT
@pytest.mark.parametrize("white", [63, 255, 1023, 65535])
def test_numbers_of_a_pgm_are_those_in_the_file(tmp_path, white):
    values = np.array([[0, 1, 5, white // 2, white]])
    path = written(tmp_path / "a.pgm", b"P5 5 1 %d\n" % white + values.astype(">u2" if white > 255 else "u1").tobytes())
    assert load_segments(path).tolist() == values.tolist()
    assert load_disparity(path, 4).tolist() == (values / 4).tolist()
    assert load_grey(path, 8)[0, [0, -1]].tolist() == [0, 255]


def test_16_bits_of_either_byte_order(tmp_path):
    values = np.array([[256, 1, 65535]])
    for name, data in (("a.png", None), ("b.pgm", b"P5 3 1 65535\n" + values.astype(">u2").tobytes())):
        path = written(tmp_path / name, data) if data else saved(tmp_path / name, Image.fromarray(values.astype(np.uint16)))
        assert load_segments(path).tolist() == values.tolist()
    assert load_segments(tiff(tmp_path / "c.tif", values, bits=16)).tolist() == values.tolist()
    for order in "<>":
        assert grey_data(values.astype(f"{order}u2"), data_bits=8)[0].tolist() == [[1, 0, 255]]
        assert segments_of(np.asfortranarray(values.astype(f"{order}i4")), "truth").tolist() == [[256, 1, 0]]


# Transparency

def test_transparent_pixels_of_few_bits_and_of_deep_colour(tmp_path):
    clear = png(tmp_path / "a.png", 4, 0, [b"\x01\x2f"], (1, 4), (b"tRNS", struct.pack(">H", 2)))
    refused("has 1 transparent pixel; all must be opaque", load_grey, clear)
    refused("has 1 transparent pixels of another number than 0", load_segments, clear)
    unknown = png(tmp_path / "b.png", 4, 0, [b"\x01\x2f"], (1, 4), (b"tRNS", struct.pack(">H", 0)))
    assert load_segments(unknown).tolist() == [[0, 1, 2, 15]]
    deep = png(tmp_path / "c.png", 16, 2, [np.array([9000, 300, 70] * 2 + [40000] * 6, ">u2").tobytes()], (1, 4),
               (b"tRNS", struct.pack(">HHH", 9000, 300, 70)))
    refused("has 2 transparent pixels", load_grey, deep)


# TIFF: white as 0, signs, several pages

@READ_AS_MEANT
def test_a_tiff_whose_white_is_0(tmp_path):
    deep = GREY.astype(np.uint16) * 257
    for name, values, bits in (("a.tif", GREY, 8), ("b.tif", deep, 16)):
        path = tiff(tmp_path / name, values, bits=bits, white_is=0)
        assert np.array_equal(load_grey(path, 8), 255 - GREY)
        for load in (load_segments, load_disparity):
            refused("whose white is 0, so that its numbers may be meant either way: save it with black as 0$", load, path)
    refused("mode F whose white is 0", load_grey, tiff(tmp_path / "c.tif", GREY / 255, bits=32, white_is=0, form=3))
    black = tiff(tmp_path / "d.tif", np.where(GREY > 99, 65535, 0), bits=16, white_is=0)
    assert np.array_equal(load_mask(black), GREY <= 99)


def test_a_tiff_of_signed_bytes(tmp_path):
    path = tiff(tmp_path / "a.tif", GREY, form=2)
    for load in (load_grey, load_segments, load_disparity, load_mask):
        refused("signed values of 8 bits; those without a sign are read: convert it$", load, path)
    deep = tiff(tmp_path / "b.tif", np.array([[65520, 9]]), bits=16, form=2)
    refused("has values from -16 to 9; grey of 16 bits", load_disparity, deep)


@READ_AS_MEANT
def test_the_first_of_several_pictures(tmp_path):
    pictures = [Image.fromarray(GREY), Image.fromarray(255 - GREY), Image.fromarray(GREY // 2)]
    for name in ("a.tif", "a.png"):
        path = saved(tmp_path / name, pictures[0], save_all=True, append_images=pictures[1:])
        found = load_inputs({"image": path}, 8)
        assert np.array_equal(found.data[0], GREY)
        assert found.notes == (f"Note: the first of 3 pictures in {path} is read",)
        assert known_disparity(path, 1, "truth").notes == found.notes
        said, odd = known_mask(path, "mask").notes
        assert (said,) == found.notes
        assert odd.endswith("only 0 is unknown: is it a mask, not a picture?")
    two = written(tmp_path / "a.pgm", b"P5 8 6 255\n" + GREY.tobytes() + b"P5 8 6 255\n" + GREY.tobytes())
    assert load_inputs({"image": two}).notes == (f"Note: the first of several pictures in {two} is read",)
    assert not load_inputs({"image": written(tmp_path / "b.pgm", two.read_bytes()[:59] + b"\n")}).notes
    digits = b"P2 8 6 255\n" + b" ".join(b"%d" % value for value in GREY.ravel()) + b"\n"
    assert not load_inputs({"image": written(tmp_path / "c.pgm", digits)}).notes


@READ_AS_MEANT
def test_smaller_copies_and_masks_are_no_pictures(tmp_path):
    """The picture itself is read, wherever it stands."""
    for kinds, pages in (((0, 1, 4), (GREY, GREY[::2, ::2], GREY)), ((1, 0), (GREY[::2, ::2], GREY))):
        path = tiff(tmp_path / "a.tif", *pages, kinds=kinds)
        found = load_inputs({"image": path}, 8)
        assert np.array_equal(found.data[0], GREY)
        assert found.notes == ()
    assert load_grey(tiff(tmp_path / "b.tif", GREY[:2], kinds=(1,)), 8).shape == (2, 8)


# PFM

@READ_AS_MEANT
@pytest.mark.parametrize(("scale", "order"), [("-1.0", "<"), ("1", ">"), ("-0.00392156862745098", "<"), ("2.5e+00", ">")])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", " "])
def test_pfm_files(tmp_path, scale, order, end):
    """The sign is the byte order; the magnitude is a unit, which is said and changes nothing. The last row comes first."""
    values = np.arange(48.0).reshape(6, 8) / 4
    values[5, 0] = 2.3509887e-38 if end == "\r" else 1  # the first value in the file
    path = pfm(tmp_path / "a.pfm", values, scale, end, order=order)
    found = known_disparity(path, 1, "truth")
    assert np.array_equal(found.values, values.astype(np.float32))
    assert found.notes == (() if abs(float(scale)) == 1 else
                           (f"Note: {path} states the scale {abs(float(scale)):g} of PFM files; its values are taken as they are",))
    assert np.array_equal(load_disparity(path, 2), values.astype(np.float32) / 2)


def test_a_pfm_whose_first_byte_is_a_line_feed(tmp_path):
    values = np.frombuffer(b"\n\0\0?", "<f4").reshape(1, 1)
    assert load_disparity(pfm(tmp_path / "a.pfm", values, end="\r"))[0, 0] == values[0, 0]


@pytest.mark.parametrize(("data", "said"), [
    (b"PF\n1 1\n-1\n" + bytes(12), "three channels; those of one are read, Pf: save the channel that is meant$"),
    (b"Pf\n1 1\n0\n" + bytes(4), "a scale other than 0: give the whole file$"),
    (b"Pf\n1 1\nnan\n" + bytes(4), "no header of a PFM"), (b"Pf\n1\n", "no header of a PFM"), (b"Pf", "no header of a PFM"),
    (b"Pf\n0 4\n-1\n", "0x4"), (b"Pf 1 1 1e999 " + bytes(4), "no header"),
    (b"Pf\n1 2\n-1\n" + bytes(7), "has 17 bytes; 1x2 floats after a header of 10 take 18: give the whole file$"),
    (b"Pf\n1 2\n-1\n" + bytes(9), "has 19 bytes"), (b"Pf\n99999 99999\n-1\n" + bytes(9), "99999x99999; a picture of floats has"),
])
def test_pfm_files_that_are_none(tmp_path, data, said):
    for load in (load_disparity, load_grey):
        refused(said, load, written(tmp_path / "a.pfm", data))


def test_a_pgm_with_ends_of_lines_of_two_characters(tmp_path):
    head = b"P5\r\n8 6\r\n255\r\n"
    path = written(tmp_path / "a.pgm", head + GREY.tobytes())
    refused(r"has \\r\\n before its pixels, which would be a place off", load_grey, path)
    shifted = written(tmp_path / "b.pgm", head + GREY.tobytes()[:-1])  # a pixel of 10
    assert load_grey(shifted, 8)[0, :2].tolist() == [10, GREY[0, 0]]


# Void, JPEG

@READ_AS_MEANT
@pytest.mark.parametrize(("kind", "void"), [(np.uint8, 255), (np.uint16, 65535), (np.int64, 255)])
def test_void_is_no_segment(tmp_path, kind, void):
    values = (GREY % 20).astype(kind)
    values[2] = void
    path = saved(tmp_path / "a.png", Image.fromarray(values)) if kind != np.int64 else values
    found = known_segments(path, "truth 1")
    assert np.array_equal(found.values, np.where(values == void, 0, values))
    line, = found.notes
    name = "the truth 1" if kind == np.int64 else path
    assert line == (f"Note: 8 of 48 pixels of {name} are {void}, which is taken for void, like the {(values == 0).sum()} of 0: "
                    "they are unknown; number a segment otherwise")


def test_255_after_254_is_a_segment():
    values = np.arange(208, 256).reshape(6, 8)
    found = known_segments(values, "truth")
    assert np.array_equal(found.values, values)
    assert not found.notes


def test_numbers_of_a_jpeg_are_said_to_be_inexact(tmp_path):
    path = saved(tmp_path / "a.jpg", Image.fromarray(GREY))
    for found in (known_disparity(path, 1, "truth"), known_segments(path, "truth"), known_mask(path, "mask")):
        assert found.notes[0].startswith(f"Note: {path} is a JPEG, which does not keep ")
    assert not load_inputs({"image": path}).notes


@READ_AS_MEANT
def test_every_reader_turns_pictures_upright(tmp_path):
    image = Image.fromarray(GREY)
    exif = image.getexif()
    exif[0x0112] = 6  # a quarter to the right
    path = saved(tmp_path / "a.png", image, exif=exif)
    wanted = np.rot90(GREY, -1)
    for load, found in ((load_segments, wanted), (load_disparity, wanted), (load_mask, wanted > 0)):
        assert np.array_equal(load(path), found)
    assert np.array_equal(load_grey(path, 8), wanted)


@pytest.mark.parametrize(("mode", "kind", "said"), [
    ("LAB", "tif", "pixels of mode LAB"), ("CMYK", "tif", "pixels of mode CMYK"), ("RGB", "png", "pixels of mode RGB"),
    ("RGBA", "png", "pixels of mode RGBA"), ("LA", "png", "pixels of mode LA"), ("1", "png", "mode 1")])
def test_colours_are_no_numbers(tmp_path, mode, kind, said):
    path = saved(tmp_path / f"a.{kind}", Image.new(mode, (4, 3)))
    refused(said, load_disparity, path)
    if mode != "1":
        refused(said, load_segments, path)


def test_floats_are_no_segments_and_arrays_are_no_pictures(tmp_path):
    refused("mode F; segments are one number", load_segments, pfm(tmp_path / "a.pfm", GREY))
    np.save(tmp_path / "a.npy", GREY)
    for load in (load_grey, load_disparity, load_segments, load_mask):
        refused("is not an image of a known format: give a PNG, JPEG, PPM/PGM, BMP or TIFF file$", load, tmp_path / "a.npy")
    for strange in (np.zeros((3, 4), [("x", int), ("y", int)]), np.zeros((3, 4), complex), np.full((3, 4), "a")):
        refused("has values of type", grey_data, strange)
        refused("is of type", known_disparity, strange, 1, "truth")


# What is the program's own

@pytest.mark.claim("pictures", "only what Pillow raises of a file is called damage; a mistake of the program is not")
def test_the_programs_own_mistakes_are_no_damage(tmp_path, monkeypatch):
    path = saved(tmp_path / "a.png", Image.fromarray(GREY))
    for name in ("_stated", "behind_the_first", "upright", "_white_above", "_check_pixels"):
        with monkeypatch.context() as patch:
            patch.setattr(files, name, lambda *given: given[0].no_such_name)
            target = written(tmp_path / "a.pgm", b"P5 8 6 255\n" + GREY.tobytes()) if name == "behind_the_first" else path
            if name == "_white_above":
                target = tiff(tmp_path / "a.tif", GREY, white_is=0)
            with pytest.raises(AttributeError, match="no_such_name"):
                load_grey(target)


def test_tiles_without_names(tmp_path, monkeypatch):
    """As versions of Pillow before 11 have them."""
    path, whole = saved(tmp_path / "a.png", Image.fromarray(GREY)), PngImagePlugin.PngImageFile._open

    def plain(self):
        whole(self)
        self.tile = [tuple(tile) for tile in self.tile]

    monkeypatch.setattr(PngImagePlugin.PngImageFile, "_open", plain)
    assert np.array_equal(load_grey(path, 8), GREY)


def test_warnings_of_pillow_are_no_lines_of_a_run(tmp_path, recwarn):
    data = io.BytesIO()
    Image.fromarray(GREY).save(data, "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x63\0\0\0\xff\xff\xff\0")
    load_grey(written(tmp_path / "a.jpg", data.getvalue()))
    assert not recwarn.list
