"""Links to a board, by their address: serial ports, TCP, UDP, a simulated board in this process."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import re
import select
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

from mrfhw.driver.driver import ChipError
from mrfhw.machine.config import Config
from mrfhw.machine.link_protocol import BAUD, ETHERNET_LOG_BYTES, LOG_BYTES, OUTSTANDING, UDP_PORT, WORDS

__all__ = [
    "Address", "Link", "LinkError", "SerialLink", "SimEthernetLink", "SimLink", "TcpLink", "UdpLink", "Wire",
    "host_and_port", "open_link", "written_host",
]

_PIECE = 1 << 16


class LinkError(ChipError):
    """The link is broken, or no board is at its other end. One line: `what`, and what to do."""

    def __init__(self, what: str, advice: str):
        super().__init__(f"{what}: {advice}")
        self.what, self.advice = what, advice

    def __reduce__(self) -> tuple[type[LinkError], tuple[str, str]]:
        return LinkError, (self.what, self.advice)  # from one process to another


class Wire(Protocol):
    """Bytes to and from a board. They may be lost, repeated or changed on the way.

    datagrams: each `send` is one, and `receive` gives one at a time; they may come in another order than they were sent. Else the
    bytes are a stream and keep their order. name: for messages. `send` and `receive` raise LinkError where the wire itself is gone.
    """

    @property
    def name(self) -> str: ...

    @property
    def datagrams(self) -> bool: ...

    def send(self, data: bytes) -> None: ...

    def receive(self, seconds: float) -> bytes:
        """The bytes that have arrived, after waiting at most `seconds` for the first one; empty if none has."""

    def clock(self) -> float:
        """Seconds, as `receive` counts them."""

    def close(self) -> None: ...


class Link(Wire, Protocol):
    """A wire of a known kind.

    check: what may be wrong with it, for messages: "check ...". reconnections: how often it has been made again.
    """

    @property
    def check(self) -> str: ...

    @property
    def reconnections(self) -> int: ...


def _lost(name: str, error: object) -> LinkError:
    return LinkError(f"the link to {name} broke ({error})", "see that the board is on and plugged in, then solve again")


class SerialLink:
    """A serial port, 8N1, held alone by this process."""

    reconnections = 0
    datagrams = False

    def __init__(self, device: str, baud: int = BAUD):
        try:
            import termios

            import serial
        except ImportError:
            raise LinkError("serial ports need pyserial, which is not installed", "pip install 'mrfhw[host]'") from None
        self.name, self.check = f"serial://{device}", f"the cable, and that {baud} is the board's baud rate"
        try:
            self._port = serial.Serial(device, baud, timeout=0, write_timeout=5, exclusive=True)
        except (OSError, ValueError, OverflowError, termios.error) as error:
            raise _not_opened(device, baud, error) from None
        # Adapters delay short answers by milliseconds unless they are set to low latency; some cannot be set.
        with contextlib.suppress(OSError, ValueError, AttributeError, NotImplementedError):
            self._port.set_low_latency_mode(True)
        with contextlib.suppress(OSError, serial.SerialException):
            self._port.reset_input_buffer()

    def send(self, data: bytes) -> None:
        try:
            self._port.write(data)
        except OSError as error:
            raise _lost(self.name, _cause(error)) from None

    def receive(self, seconds: float) -> bytes:
        try:
            ready, _, _ = select.select([self._port.fd], [], [], max(0.0, seconds))
            if not ready:
                return b""
            data = os.read(self._port.fd, _PIECE)
        except BlockingIOError:
            return b""
        except (OSError, TypeError, ValueError) as error:
            raise _lost(self.name, _cause(error)) from None
        if not data:
            raise _lost(self.name, "it was unplugged")
        return data

    def clock(self) -> float:
        return time.monotonic()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._port.close()


GONE = {errno.EIO: "it was unplugged", errno.ENXIO: "it was unplugged", errno.ENODEV: "it was unplugged",
        errno.EPIPE: "the other end closed it", errno.ECONNRESET: "the other end closed it"}


def _cause(error: BaseException) -> str:
    """The operating system's message, or a plainer one if a port or a connection was lost."""
    number = getattr(error, "errno", None)
    if not isinstance(number, int) or number <= 0:  # those of names that cannot be looked up are below 0
        return getattr(error, "strerror", None) or str(error) or type(error).__name__
    return GONE.get(number, os.strerror(number))


def _not_opened(device: str, baud: int, error: Exception) -> LinkError:
    number = getattr(error, "errno", None)
    if not os.path.exists(device):
        return LinkError(f"there is no port {device}", "plug the board in, and name the port that `ls /dev/tty*` shows then")
    if isinstance(error, PermissionError) or number == 13:
        return LinkError(f"{device} may not be opened (Permission denied)",
                         "add yourself to the group that owns it (Debian: dialout) and log in again")
    if number in (11, 16):
        return LinkError(f"{device} is in use by another program", "end that one, or name another port")
    if isinstance(error, ValueError):
        return LinkError(f"baud is {baud}; {device} does not take it", "give the rate that the board was built for")
    return LinkError(f"{device} cannot be opened as a serial port ({_cause(error)})", "name the board's port")


class _SocketLink:
    """A connected socket."""

    reconnections = 0
    name: str
    _socket: socket.socket

    def send(self, data: bytes) -> None:
        try:
            self._socket.settimeout(5)
            self._socket.sendall(data)
        except OSError as error:
            raise _lost(self.name, _cause(error)) from None

    def _received(self, seconds: float) -> bytes | None:
        """What came; None for nothing in time."""
        try:
            self._socket.settimeout(max(1e-4, seconds))
            return self._socket.recv(_PIECE)
        except TimeoutError:
            return None
        except OSError as error:
            raise _lost(self.name, _cause(error)) from None

    def clock(self) -> float:
        return time.monotonic()

    def close(self) -> None:
        self._socket.close()


class TcpLink(_SocketLink):
    """A TCP connection, as to `mrfhw board --listen tcp://...` or a serial server in raw mode."""

    check = "what listens there, that no other program speaks to the board, and the baud rate of a serial server"
    datagrams = False

    def __init__(self, host: str, port: int, seconds: float = 5):
        self.name = f"tcp://{written_host(host)}:{port}"
        try:
            self._socket = socket.create_connection((host, port), seconds)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except (OSError, ValueError) as error:  # names that no host can have are ValueErrors
            reason = "no answer" if isinstance(error, TimeoutError) else _cause(error)
            raise LinkError(f"{self.name} cannot be reached ({reason})", "see that the board listens there") from None

    def receive(self, seconds: float) -> bytes:
        data = self._received(seconds)
        if data == b"":
            raise _lost(self.name, "the other end closed it")
        return data or b""


class UdpLink(_SocketLink):
    """Datagrams to a board with Ethernet, or to `mrfhw board --listen udp://...`."""

    check = "its address, and that no other program speaks to the board"
    datagrams = True

    def __init__(self, host: str, port: int = UDP_PORT):
        self.name = f"udp://{written_host(host)}:{port}"
        try:
            family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            self._socket = socket.socket(family, kind, protocol)
            self._socket.connect(place)
        except (OSError, ValueError) as error:  # names that no host can have are ValueErrors
            raise LinkError(f"{self.name} cannot be reached ({_cause(error)})", "see that the address is the board's") from None

    def receive(self, seconds: float) -> bytes:
        return self._received(seconds) or b""


def written_host(host: str) -> str:
    """A host as it stands in an address."""
    return f"[{host}]" if ":" in host else host


def _simulated(name: str) -> Any:
    """A module of simulated boards, which bring gateware and generator; other boards need neither."""
    return importlib.import_module(f"mrfhw.simulation.{name}")


class SimLink:
    """The compiled board in this process. Its clock stands still unless somebody waits; a second is `rate` cycles."""

    name = "sim://"
    check = "the compiled board"
    reconnections = 0
    datagrams = False

    def __init__(self, config: Config, quick: bool = False, words: int = WORDS, log_bytes: int = LOG_BYTES, rate: int = 2_000_000,
                 memory_bytes: int = 0, two_clocks: bool = False, outstanding: int = OUTSTANDING):
        self.rate = rate
        self.board = _simulated("board").CompiledBoard(
            config, words=words, log_bytes=log_bytes, quick=quick, memory_bytes=memory_bytes, two_clocks=two_clocks,
            outstanding=outstanding)

    def send(self, data: bytes) -> None:
        self.board.send(data)

    def receive(self, seconds: float) -> bytes:
        self.board.run(int(max(0.0, seconds) * self.rate) + 1, 100 * self.board.divisor)
        return self.board.take()

    def clock(self) -> float:
        return self.board.cycles / self.rate

    def close(self) -> None:
        self.board.close()


class SimEthernetLink:
    """The compiled board with Ethernet in this process. Its clock stands still unless somebody waits; a second is `rate` cycles."""

    name = "sim://"
    check = "the compiled board"
    reconnections = 0
    datagrams = True

    def __init__(self, config: Config, quick: bool = False, log_bytes: int = ETHERNET_LOG_BYTES, rate: int = 2_000_000,
                 two_clocks: bool = False, words: tuple[int, int] | None = None, outstanding: int = OUTSTANDING):
        self.rate = rate
        self.board = _simulated("ethernet_board").CompiledEthernetBoard(
            config, log_bytes, quick, two_clocks, words=words, outstanding=outstanding)

    def send(self, data: bytes) -> None:
        self.board.send(data, UDP_PORT)

    def receive(self, seconds: float) -> bytes:
        found = self.board.receive(int(max(0.0, seconds) * self.rate) + 1)
        return found.data if found else b""

    def clock(self) -> float:
        return self.board.cycles / self.rate

    def close(self) -> None:
        self.board.close()


OPTIONS = {"serial": ("baud", "reconnect", "patience"), "tcp": ("reconnect", "patience"), "udp": ("reconnect", "patience"),
           "sim": ("quick", "patience")}
LEAST_PATIENCE = 1.0  # seconds


@dataclass(frozen=True)
class Address:
    """The parts of a board's address. baud, quick, reconnect, patience (seconds; None where not given): options that may follow its
    question mark."""

    text: str
    scheme: str
    device: str = ""
    host: str = ""
    port: int = 0
    baud: int = BAUD
    quick: bool = False
    reconnect: float | None = None
    patience: float | None = None

    @classmethod
    def of(cls, text: str) -> Address:
        """Parse an address. Raises LinkError if it is invalid."""
        wrong = LinkError(f"the board's address is {text!r}; it must be serial:///dev/PORT, with ?baud=N where it is not {BAUD}, "
                          "tcp://HOST:PORT, udp://HOST or sim://, and may end in reconnect=SECONDS and patience=SECONDS",
                          "give one of them")
        try:
            parts = urlsplit(text)
            given = parse_qsl(parts.query, keep_blank_values=True)
        except ValueError:
            raise wrong from None
        options, known = dict(given), OPTIONS.get(parts.scheme)
        if known is None or parts.fragment or len(options) < len(given) or not set(options) <= set(known):
            raise wrong
        reconnect = _seconds(options, "reconnect", 0, "how long a broken link may be away, 0 for not at all")
        patience = _seconds(options, "patience", LEAST_PATIENCE, "how long a board may answer while nothing goes on")
        if parts.scheme == "sim":
            if parts.netloc or parts.path or options.get("quick", "0") not in ("0", "1"):
                raise wrong
            return cls(text, "sim", quick=options.get("quick", "0") == "1", patience=patience)
        if parts.scheme in ("tcp", "udp"):
            host, port = host_and_port(text, parts.scheme)
            if host is None or not port:
                kind, example = ("TCP", "tcp://127.0.0.1:7000") if parts.scheme == "tcp" else ("UDP", "udp://192.168.1.50")
                raise LinkError(f"the board's address is {text!r}; a {kind} address has a host and a port from 1 to 65535",
                                f"give such as {example}")
            return cls(text, parts.scheme, host=host, port=port, reconnect=reconnect, patience=patience)
        device, rate = parts.netloc + parts.path, options.get("baud", str(BAUD))
        if not device:
            raise wrong
        if not re.fullmatch("[0-9]{1,10}", rate) or not 0 < int(rate) < 1 << 31:
            raise LinkError(f"baud is {rate!r}; it must be a whole number above 0", "give the rate that the board was built for")
        return cls(text, "serial", device=device, baud=int(rate), reconnect=reconnect, patience=patience)


def host_and_port(text: str, scheme: str = "tcp") -> tuple[str | None, int | None]:
    """Of tcp://HOST:PORT or udp://HOST:PORT, each None where it is missing or cannot be; a board's UDP port may be left out.

    Whatever follows a question mark is left alone.
    """
    found = re.fullmatch(scheme + r"://(?:\[([^][]+)\]|([^][:/@#]+))(?::([0-9]{1,5}))?/?", text.partition("?")[0].strip())
    port = int(found[3] or (UDP_PORT if scheme == "udp" else 1 << 16)) if found else 1 << 16
    if found is None or port >= 1 << 16:
        return None, None
    host = found[1] or found[2]
    try:
        host.encode("idna")
    except ValueError:
        return None, None
    return host, port


def _seconds(options: Mapping[str, str], name: str, least: float, what: str) -> float | None:
    """The option of that name, None where it is not given."""
    if name not in options:
        return None
    text = options[name]
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not least <= seconds < 1e9:
        raise LinkError(f"{name} is {text!r}; it must be a number of seconds from {least:g} on", f"give {what}")
    return seconds


def open_link(address: str, config: Config) -> Link:
    """The link that an address names: serial:///dev/ttyUSB0?baud=3000000, tcp://HOST:PORT, udp://HOST or sim://.

    Raises LinkError for any other and where it cannot be opened.
    """
    found = Address.of(address)
    if found.scheme == "sim":
        return SimLink(config, quick=found.quick)
    if found.scheme == "serial":
        return SerialLink(found.device, found.baud)
    return (TcpLink if found.scheme == "tcp" else UdpLink)(found.host, found.port)
