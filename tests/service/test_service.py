"""A service that really runs: the bits of `mrfhw run` for what is sent, what is refused, and who may ask."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import socket
import ssl
import subprocess
import sys
import threading
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import mrfhw
from mrfhw.applications.parcel import enclosing
from mrfhw.cli import main
from mrfhw.service.openapi import description
from mrfhw.system.errors import ProblemError
from support.served import Served, bits, children, long_request, served, small_request, until

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

SAME = pytest.mark.claim("service", "what a service has done has the bits of mrfhw run, for every file that mrfhw run reads")
REFUSED = pytest.mark.claim("service", "what is no request, is too large, names a file, a board or another's job is one line of "
                            "JSON, and the service goes on")
BOUNDED = pytest.mark.claim("service", "the memory of a service is bounded, however many clients send at once")
PLACES = pytest.mark.claim("service", "beyond its computer a service needs tokens and TLS; what it cannot have is one line")

MOST = 400_000  # bytes of a request


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("service") / "queue", "--request-bytes", str(MOST), workers=2) as found:
        yield found


def invoked(*words: str, code: int = 0) -> str:
    found = CliRunner().invoke(main, list(words))
    assert found.exit_code == code, (found.output, found.exception)
    return found.output


def packed(request: mrfhw.Request, folder: Path) -> bytes:
    path = folder / "sent.npz"
    request.save(path)
    return path.read_bytes()


# -- the same bits


def pictures(folder: Path) -> dict[str, list[str]]:
    """Words of `mrfhw run` by what their files are."""
    rng = np.random.default_rng(0)
    grey = rng.integers(0, 256, (10, 14), np.uint8)
    colour = rng.integers(0, 256, (10, 14, 3), np.uint8)
    Image.fromarray(grey).save(folder / "grey.png")
    Image.fromarray(colour).save(folder / "colour.png")
    Image.fromarray(colour).convert("P", palette=Image.Palette.ADAPTIVE).save(folder / "palette.png")
    Image.fromarray(colour).convert("CMYK").save(folder / "cmyk.tiff")
    Image.fromarray((grey * 16).astype(np.uint16) % 4096).save(folder / "twelve.png")
    (folder / "ten.pgm").write_bytes(b"P5 14 10 1023\n" + (grey.astype(">u2") * 4).tobytes())
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.fromarray(colour).save(folder / "turned.jpg", exif=turned)
    small_request(5).options["file"].save(folder / "field.npz")
    denoise = {name: ["denoise", str(folder / name), "--levels", "8", "--sweeps", "8"]
               for name in ("palette.png", "cmyk.tiff", "ten.pgm", "turned.jpg")}
    return {**denoise,
            "mask": ["denoise", str(folder / "grey.png"), "--levels", "8", "--sweeps", "8", "--mask", str(folder / "ten.pgm")],
            "depth": ["stereo", str(folder / "twelve.png"), str(folder / "twelve.png"), "--depth", "12", "--labels", "4",
                      "--sweeps", "8", "--mask", "none"],
            "problem": ["problem", str(folder / "field.npz"), "--sweeps", "9"],
            "truths": ["segment", str(folder / "colour.png"), "--sweeps", "8", "--truth", str(folder / "grey.png"), "--truth",
                       str(folder / "grey.png")],
            "machine": ["problem", str(folder / "field.npz"), "--sweeps", "9", "--backend", "model", "--set", "spes=2"]}


@SAME
@pytest.mark.slow
def test_submit_writes_what_run_writes(service: Served, tmp_path: Path) -> None:
    for name, words in pictures(tmp_path).items():
        sent, alone = tmp_path / f"{name}-sent", tmp_path / f"{name}-alone"
        invoked("run", *words, "--no-report", "-o", str(alone))
        invoked("submit", "--server", service.url, *words, "--no-report", "-o", str(sent))
        assert {path.name for path in sent.iterdir()} == {path.name for path in alone.iterdir()}
        for path in alone.iterdir():
            if path.name not in ("report.json", "histogram.npz"):
                assert path.read_bytes() == (sent / path.name).read_bytes(), (name, path.name)
        assert np.array_equal(np.load(sent / "histogram.npz")["counts"], np.load(alone / "histogram.npz")["counts"])
        found, own = (json.loads((folder / "report.json").read_text()) for folder in (sent, alone))
        assert found["metrics"] == own["metrics"]
        assert str(service.folder) not in (sent / "report.json").read_text()


@SAME
@pytest.mark.slow
def test_the_whole_way_of_a_pair(service: Served, tmp_path: Path) -> None:
    """Figures and the page as well; the page of the service shows the picture."""
    invoked("demo-scene", "--rows", "16", "--cols", "24", "--labels", "6", "-o", str(tmp_path))
    words = ["stereo", *(str(tmp_path / f"{side}.png") for side in ("left", "right")), "--labels", "6", "--sweeps", "10"]
    invoked("run", *words, "-o", str(tmp_path / "alone"))
    job = invoked("submit", "--server", service.url, *words, "--no-wait", "--weight", "2").strip()
    client, seen = service.client(), []
    assert client.wait(job, callback=lambda status: seen.append(status["state"]))["state"] == "done"
    assert seen[-1] == "done"
    paths = client.fetch(job, tmp_path / "sent")
    assert {path.name for path in paths} == {path.name for path in (tmp_path / "alone").iterdir()}
    for path in paths:
        if path.suffix in (".npy", ".pfm", ".png"):
            assert path.read_bytes() == (tmp_path / "alone" / path.name).read_bytes()
    status, page = service.asked("GET", "/")
    assert status == 200
    assert f'src="jobs/{job}/files/estimate.png"'.encode() in page
    assert b"http://" not in page
    assert b"<script" not in page
    assert service.asked("GET", f"/jobs/{job}/files/estimate.png")[1] == (tmp_path / "alone" / "estimate.png").read_bytes()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "labels.npy").write_text("mine")
    with pytest.raises(ProblemError, match=r"which has a labels\.npy that no run wrote there"):
        client.fetch(job, tmp_path / "own")


@SAME
def test_a_request_has_one_digest_with_its_files(tmp_path: Path) -> None:
    Image.fromarray(np.arange(80, dtype=np.uint8).reshape(8, 10)).save(tmp_path / "p.png")
    by_path = mrfhw.Request("denoise", image=tmp_path / "p.png", mask=str(tmp_path / "p.png"), levels=8)
    sent = enclosing(by_path)
    assert sent.digest == by_path.digest
    sent.save(tmp_path / "sent.npz")
    again = mrfhw.Request.load(tmp_path / "sent.npz")
    assert again == sent
    assert str(tmp_path) not in repr(again.record.scalars)
    with pytest.raises(ProblemError, match="image is a Pillow image of mode P, or one that is to be turned"):
        enclosing(mrfhw.Request("denoise", image=Image.new("P", (8, 8))))


@pytest.mark.slow
def test_the_same_key_is_the_same_job(service: Served, tmp_path: Path) -> None:
    client, request = service.client(owner="one"), small_request(77)
    job = client.submit(request)
    assert client.submit(small_request(77)) == job
    assert client.submit(request, report=False) != job
    assert service.client(owner="two").submit(request) != job
    own = client.submit(request, key="mine")
    with pytest.raises(ProblemError, match="key is 'mine', which is that of another request of one"):
        client.submit(small_request(78), key="mine")
    assert client.wait(own)["attempts"] == 1
    assert {status["id"] for status in client.jobs()} >= {job, own}
    assert [status["key"] for status in client.jobs("done") if status["id"] == own] == ["mine"]
    assert client.forget(own)["state"] == "done"
    with pytest.raises(ProblemError, match="there is no job"):
        client.status(own)


@pytest.mark.slow
def test_a_job_that_cannot_be_says_why(service: Served, tmp_path: Path) -> None:
    (tmp_path / "cut.png").write_bytes(b"no picture")
    said = invoked("submit", "--server", service.url, "denoise", str(tmp_path / "cut.png"), "-o", str(tmp_path / "out"), code=2)
    assert said == "Error: cut.png is not an image of a known format: give a PNG, JPEG, PPM/PGM, BMP or TIFF file\n"
    assert not (tmp_path / "out").exists()
    said = invoked("submit", "--server", service.url, "denoise", str(tmp_path / "none.png"), code=2)
    assert "none.png cannot be read (No such file or directory)" in said


@pytest.mark.slow
def test_cancel_ends_what_is_at_work(service: Served) -> None:
    client = service.client()
    jobs = [client.submit(long_request(number)) for number in range(3)]
    until(lambda: sum(client.status(job)["state"] == "leased" for job in jobs) == 2)
    until(lambda: any((client.status(job)["progress"] or {"done": 0})["done"] for job in jobs))
    for job in jobs:
        assert client.cancel(job)["state"] == "cancelled"
        assert client.wait(job)["state"] == "cancelled"
    assert client.wait(client.submit(small_request(3)))["state"] == "done"
    with pytest.raises(ProblemError, match=f"job {jobs[0]} is cancelled"):
        client.fetch(jobs[0], "nowhere")


# -- what is refused


def _npz(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def _array(value: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, value)
    return file.getvalue()


def _described(options: dict[str, Any], **more: Any) -> bytes:
    """A saved request with these options, as somebody may have written it."""
    whole = {"format": "mrfhw request", "version": 1, "application": "denoise", "backend": "cpu", "chains": None, "visit": None,
             "machine": None, "options": options, **more}
    return _npz({"json.npy": _array(np.array(json.dumps(whole)))})


class _Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/mrfhw-was-here",)


HOSTILE = {
    "nothing": (b"", 400, "is not a saved request"),
    "text": (b"hello", 400, "is not a saved request"),
    "a pickle": (pickle.dumps(_Evil()), 400, "is not a saved request"),
    "a pickle inside": (_npz({"json.npy": _array(np.array("{}")), "image.npy": _array(np.array([_Evil()], object))}), 400, None),
    "a path": (_described({"image": {"path": "/etc/passwd"}}), 400, "image is the path '/etc/passwd'; what is sent names"),
    "text for a file": (_described({"image": "/etc/passwd"}), 400, "image is the path '/etc/passwd'"),
    "text among several": (_described({"image": {"several": ["/etc/passwd"]}}), 400, "image is the path"),
    "a path for a number": (_described({"image": "none", "initial": {"path": "/etc/passwd"}}), 400, "path"),
    "a board": (_described({"image": "none"}, backend="serial:///dev/ttyUSB0"), 400, "what is sent has no board"),
    "a board elsewhere": (_described({"image": "none"}, backend="tcp://10.0.0.1:7"), 400, "what is sent has no board"),
    "a manifest": (_described({"image": "none"}, machine="/etc/passwd"), 400, "machine is '/etc/passwd'; what is sent"),
    "a path of a manifest": (_described({"image": "none"}, machine={"path": "/etc/passwd"}), 400, "names no file"),
    "no application": (_described({}, application="format"), 400, "format"),
    "a file with a folder": (_described({"image": {"file": {"called": "../x", "array": "image"}}}), 400, None),
    "a file without bytes": (_described({"image": {"file": {"called": "x", "array": "image"}}}), 400, "no whole request"),
    "two kinds": (_described({"image": {"path": "a", "array": "b"}}), 400, "no whole request"),
    "a number for options": (_described(3), 400, "no whole request"),  # type: ignore[arg-type]
    "much of nothing": (_npz({"json.npy": _array(np.array("{}")), "image.npy": _array(np.zeros(10 * MOST, np.uint8))}), 400,
                        f"the limit is {MOST}"),
    "too large": (b"P" * (MOST + 1), 413, f"more than {MOST} bytes"),
}


@REFUSED
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bodies(service: Served, name: str) -> None:
    body, status, line = HOSTILE[name]
    found, said = service.refused("POST", "/jobs", body)
    assert found == status, said
    assert line is None or line in said, said
    assert not list((service.folder / "incoming").iterdir())
    assert not Path("/tmp/mrfhw-was-here").exists()


@REFUSED
def test_a_body_without_an_end_and_one_that_is_cut(service: Served, tmp_path: Path) -> None:
    def without_an_end() -> Iterator[bytes]:
        for _ in range(3 * MOST // 50_000):
            yield b"P" * 50_000

    assert service.refused("POST", "/jobs", without_an_end())[0] == 413
    host, port = service.url.removeprefix("http://").split(":")
    body = packed(small_request(), tmp_path)
    with socket.create_connection((host, int(port))) as cut:
        cut.sendall(f"POST /jobs HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:100])
    until(lambda: not list((service.folder / "incoming").iterdir()))
    assert service.refused("POST", "/jobs", body[:len(body) // 2])[0] == 400
    assert service.asked("GET", "/jobs")[0] == 200


@REFUSED
@pytest.mark.slow
def test_hostile_names_and_words(service: Served, tmp_path: Path) -> None:
    client = service.client()
    job = client.submit(small_request(9))
    client.wait(job)
    secret = service.folder / "jobs" / job / "request.npz"
    assert secret.exists()
    for name in ("../request.npz", "..%2Frequest.npz", "%2e%2e/request.npz", "..%2f..%2f..%2fqueue.sqlite", "/etc/passwd",
                 "request.npz", "%00", "labels.npy%00", "none.npy"):
        assert service.refused("GET", f"/jobs/{job}/files/{name}")[0] == 404
    for path in ("/jobs/none", "/jobs/../jobs", "/none", "/jobs/%2e%2e", f"/jobs/{job}/files/", "/jobs/" + "x" * 5000):
        assert service.refused("GET", path)[0] == 404
    assert service.refused("PUT", "/jobs")[0] == 405
    body = packed(small_request(), tmp_path)
    for headers, line in (({"Mrfhw_Key": "a b"}, "Mrfhw-Key is"), ({"Mrfhw_Weight": "1e9"}, "Mrfhw-Weight is '1e9'; the limits"),
                          ({"Mrfhw_Weight": "nan"}, "the limits"), ({"Mrfhw_Owner": "../x"}, "Mrfhw-Owner is"),
                          ({"Mrfhw_Report": "no"}, "it is true or false"), ({"Host": "evil.example"}, "another host"),
                          ({"Origin": "http://evil.example"}, "another host")):
        status, said = service.refused("POST", "/jobs", body, **headers)
        assert status in (400, 403)
        assert line in said
    for query, line in (("state=none", "state is 'none'"), ("limit=0", "limit is '0'"), ("before=x", "before is 'x'")):
        assert line in service.refused("GET", f"/jobs?{query}")[1]


@REFUSED
def test_the_description_is_whole(service: Served) -> None:
    """Its routes are those of the application, and answers have the fields that it says."""
    from mrfhw.service.http import Service

    status, data = service.asked("GET", "/openapi.json")
    found = json.loads(data)
    assert status == 200
    assert found == description(MOST, False)
    router = Service(None, 0).app()._app.router  # type: ignore[arg-type, attr-defined]
    routes = {(route.path, method.lower()) for route in router.routes for method in route.methods - {"HEAD"}}
    assert routes == {(path, method) for path, methods in found["paths"].items() for method in methods}
    client = service.client()
    job = client.status(client.submit(small_request(10)))
    assert set(job) == set(found["components"]["schemas"]["Job"]["properties"])
    assert set(json.loads(service.asked("GET", "/jobs")[1])) == set(found["components"]["schemas"]["Jobs"]["properties"])


# -- many at once, and what it takes


def resident(pid: int) -> int:
    """Bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@BOUNDED
@pytest.mark.slow
def test_a_hundred_clients_at_once(tmp_path: Path) -> None:
    """Each with 4 MB, which together are more than the service may grow by."""
    with served(tmp_path / "queue", "--request-bytes", "8000000", workers=1) as service:
        client = service.client()
        client.wait(client.submit(small_request(1)))
        body = packed(mrfhw.Request("denoise", image=np.zeros((2000, 2000), np.uint8), sweeps=10 ** 9), tmp_path)
        service.asked("POST", "/jobs", body, Mrfhw_Key="first")
        before, most, over = resident(service.pid), [0], threading.Event()

        def look() -> None:
            while not over.wait(0.01):
                most[0] = max(most[0], resident(service.pid))

        found: list[int] = []
        senders = [threading.Thread(target=lambda number=number: found.append(
            service.asked("POST", "/jobs", body, Mrfhw_Key=f"k{number}")[0])) for number in range(100)]
        looker = threading.Thread(target=look)
        looker.start()
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        over.set()
        looker.join()
        assert found == [201] * 100
        grown = most[0] - before
        print(f"before {before >> 20} MiB, grown by {grown >> 20} MiB, {100 * len(body) >> 20} MiB sent")
        assert grown < 100 << 20
        for one in client.jobs():
            client.cancel(one["id"])


# -- who may ask, and where


@PLACES
@pytest.mark.slow
def test_tokens_and_tls(tmp_path: Path) -> None:
    tokens, certificate, key = tmp_path / "tokens", tmp_path / "cert.pem", tmp_path / "key.pem"
    tokens.write_text("# who\nann " + "a" * 20 + "\nben " + "b" * 20 + " 5\n")
    tokens.chmod(0o600)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True,
                   capture_output=True)
    words = ("--token", str(tokens), "--tls-cert", str(certificate), "--tls-key", str(key))
    with served(tmp_path / "queue", *words, listen="0.0.0.0:0") as service:
        url = service.url.replace("0.0.0.0", "localhost")
        ann, ben = (mrfhw.Client(url, letter * 20, certificate=certificate) for letter in "ab")
        job = ann.submit(small_request(1))
        assert ann.wait(job)["owner"] == "ann"
        for asked in (ben.status, ben.cancel, ben.forget, ben.wait, lambda one: ben.fetch(one, tmp_path / "stolen")):
            with pytest.raises(ProblemError, match="there is no job"):
                asked(job)
        assert ben.jobs() == []
        pages = [_page(url, letter * 20, certificate) for letter in "ab"]
        assert [job in one for one in pages] == [True, False]
        assert ["no jobs yet" in one for one in pages] == [False, True]
        # The key of another is free.
        assert ben.submit(small_request(1), key="own") != ann.submit(small_request(1), key="own")
        with pytest.raises(ProblemError, match=r"Mrfhw-Weight is '2'; the limits of ann are 0\.01 to 1"):
            ann.submit(small_request(2), weight=2)
        ben.cancel(ben.submit(small_request(2), weight=5))
        for token in (None, "a" * 19, "a" * 21, ""):
            with pytest.raises(ProblemError, match="no token of this service is given"):
                mrfhw.Client(url, token, certificate=certificate).jobs()
        with pytest.raises(ProblemError, match="whose certificate is not trusted"):
            mrfhw.Client(url, "a" * 20).jobs()
        (tmp_path / "mine").write_text("b" * 20 + "\n")
        said = invoked("submit", "--server", url, "--token", str(tmp_path / "mine"), "--certificate", str(certificate), "problem",
                       str(_field(tmp_path)), "--sweeps", "9", "--no-report", "-o", str(tmp_path / "out"))
        assert "labels.npy" in said


def _page(url: str, token: str, certificate: Path) -> str:
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked, context=ssl.create_default_context(cafile=certificate)) as answer:
        return str(answer.read().decode())


def _field(folder: Path) -> Path:
    small_request(4).options["file"].save(folder / "field.npz")
    return folder / "field.npz"


@PLACES
@pytest.mark.slow
def test_a_unix_socket_and_a_second_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with served(tmp_path / "queue", listen="unix:s") as service:
        assert service.url == "unix:s"
        assert Path("s").stat().st_mode & 0o777 == 0o600
        client = mrfhw.Client("unix:s")
        job = client.submit(small_request(6))
        assert client.wait(job)["state"] == "done"
        client.fetch(job, "out")
        mrfhw.run(small_request(6)).save("alone", report=False)
        assert bits(Path("out")) == bits(Path("alone"))
        for words, line in ((["--folder", "queue"], "on which another mrfhw serve works"),
                            (["--folder", "other", "--listen", "unix:s"], "another program listens there")):
            assert line in _serve(*words)
        service.kill()
        service.start()  # where the socket of the one before is left
        assert mrfhw.Client("unix:s").status(job)["state"] == "done"
    assert not Path("s").exists()
    with pytest.raises(ProblemError, match="server is unix:s, which does not answer"):
        mrfhw.Client("unix:s").jobs()


def _serve(*words: str) -> str:
    """The line of a service that does not start."""
    found = subprocess.run([sys.executable, "-m", "mrfhw", "serve", *words], capture_output=True, text=True, timeout=240)
    assert found.returncode == 2, found
    assert found.stderr.startswith("Error: ")
    assert found.stderr.count("\n") == 1
    return found.stderr


@PLACES
@pytest.mark.slow
def test_what_a_service_cannot_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("open").write_text("ann " + "a" * 20)
    Path("open").chmod(0o644)
    Path("short").write_text("ann abc")
    Path("short").chmod(0o600)
    Path("file").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for words, line in (
                (["--listen", "0.0.0.0:0"], "listen is 0.0.0.0:0, which others reach; there a service needs tokens and TLS"),
                (["--listen", "0.0.0.0:0", "--token", "short"], "needs tokens and TLS"),
                (["--listen", "nowhere"], "it is unix:PATH or HOST:PORT"),
                (["--listen", f"127.0.0.1:{port}"], "another program listens there"),
                (["--token", "open"], "which others than its owner may read: chmod 600 it"),
                (["--token", "short"], "line 1 is no name"),
                (["--tls-cert", "file"], "TLS needs both"),
                (["--tls-cert", "file", "--tls-key", "file", "--listen", "127.0.0.1:0"], "which cannot be used"),
                (["--folder", "file", "--listen", "127.0.0.1:0"], "file"),
                (["--workers", "0"], "workers is 0; the limits are 1 to 1000")):
            assert line in invoked("serve", *words, code=2), words
    assert "does not answer (Connection refused): start mrfhw serve there" in invoked(
        "submit", "--server", f"http://127.0.0.1:{port}", "problem", str(_field(tmp_path)), code=2)
    assert "it is http://HOST:PORT" in invoked("submit", "--server", "ftp://x", "problem", str(_field(tmp_path)), code=2)
    with served(tmp_path / "queue") as other, urllib.request.urlopen(other.url + "/openapi.json") as answer:
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


@PLACES
@pytest.mark.slow
def test_a_full_disk_is_said_and_what_is_kept_stays(tmp_path: Path) -> None:
    """Where no file of the service may be larger than 200 blocks of 512 bytes, the first ones fit and a large one does not."""
    with served(tmp_path / "queue", before="ulimit -f 400") as service:
        client = service.client()
        job = client.submit(small_request(1), report=False)
        large = packed(mrfhw.Request("denoise", image=np.zeros((900, 900), np.uint8)), tmp_path)
        status, line = service.refused("POST", "/jobs", large)
        assert status == 507
        assert "cannot keep it now (File too large); what it has kept stays" in line
        assert client.wait(job)["state"] == "done"


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    """What it did is done again; a job at which all die has failed, and others go on."""
    with served(tmp_path / "queue", "--deaths", "2", workers=1) as service:
        client = service.client()
        bad = client.submit(long_request(1))
        for attempt in (1, 2):
            until(lambda attempt=attempt: client.status(bad)["attempts"] == attempt and client.status(bad)["progress"])
            os.kill(children(service.pid)[0], signal.SIGKILL)
        assert "its worker was ended by SIGKILL, and so 2 times" in client.wait(bad)["error"]
        assert client.wait(client.submit(small_request(2)))["state"] == "done"
        worker = children(service.pid)
        service.kill()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in worker), "workers outlive their service")
