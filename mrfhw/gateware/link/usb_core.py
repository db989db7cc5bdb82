"""A full-speed USB device that is a serial port (CDC-ACM), of LUNA's parts."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

from amaranth import Elaboratable, Module, ResetInserter

from mrfhw.machine.link_protocol import PACKET_BYTES

__all__ = ["PRODUCT_ID", "VENDOR_ID", "UsbDevice", "check_core"]

VENDOR_ID, PRODUCT_ID = 0x1209, 0x0001  # pid.codes' for tests; whoever sells boards has one of their own
MANUFACTURER, PRODUCT = "mrfhw", "mrfhw machine"
STATUS_ENDPOINT, DATA_ENDPOINT = 1, 2
STATUS_MILLISECONDS = 255  # between a host's looks at the status endpoint, which never has any
INTERRUPT = 3  # an endpoint's bmAttributes
CONFIGURATION = 1
CLASS_REQUEST = 1  # a request's type
SET_LINE_CODING, SET_CONTROL_LINE_STATE = 0x20, 0x22
# Class, subclass and protocol of descriptors: several interfaces that belong together, the control and the data of a serial port.
ASSOCIATED, CONTROL, DATA = (0xEF, 0x02, 0x01), (0x02, 0x02, 0x01), (0x0A, 0x00, 0x00)


def _luna() -> SimpleNamespace:
    """What is used of LUNA. Imported where it is used, as nothing else needs it; it warns of names that Amaranth will drop."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            from luna.gateware.usb.usb2.device import USBDevice
            from luna.gateware.usb.usb2.endpoints.stream import USBStreamInEndpoint, USBStreamOutEndpoint
            from luna.gateware.usb.usb2.request import RequestHandlerInterface
            from usb_protocol.emitters import DeviceDescriptorCollection
            from usb_protocol.emitters.descriptors import cdc
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("luna", "usb_protocol"):
            raise
        raise ValueError("USB needs luna-usb, which is not installed: pip install 'mrfhw[usb]'") from None
    return SimpleNamespace(
        Device=USBDevice, InEndpoint=USBStreamInEndpoint, OutEndpoint=USBStreamOutEndpoint, Requests=RequestHandlerInterface,
        Descriptors=DeviceDescriptorCollection, cdc=cdc)


def check_core() -> None:
    """Raises ValueError, in one line, where LUNA is missing."""
    _luna()


class _LineRequests(Elaboratable):
    """Takes what a host says of a serial line's rate and its handshake wires, of which there are none."""

    def __init__(self, luna: SimpleNamespace):
        self.interface = luna.Requests()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        to, setup = self.interface, self.interface.setup
        known = (setup.request == SET_LINE_CODING) | (setup.request == SET_CONTROL_LINE_STATE)
        with m.If((setup.type == CLASS_REQUEST) & known):
            m.d.comb += to.claim.eq(1)
            with m.If(to.rx_ready_for_response):
                m.d.comb += to.handshakes_out.ack.eq(1)
            with m.If(to.status_requested):
                m.d.comb += [to.tx.valid.eq(1), to.tx.last.eq(1)]
        return m


class _Endpoint(Elaboratable):
    """An endpoint of LUNA's that starts anew when the host configures the device, which begins with DATA0 then.

    LUNA names an endpoint by its class, and a second one of a class by its place in memory: each has a class of its own here, so
    that the names, and with them the Verilog, are the same each time.
    """

    def __init__(self, endpoint: Any):
        self.endpoint, self.interface, self.stream = endpoint, endpoint.interface, endpoint.stream

    def elaborate(self, platform: object) -> Any:
        return ResetInserter({"usb": self.interface.active_config != CONFIGURATION})(self.endpoint)


class _Status(_Endpoint):
    """Of which a serial port must have one. Nothing is ever sent."""


class _FromHost(_Endpoint):
    pass


class _ToHost(_Endpoint):
    pass


def _endpoint(interface: Any, address: int, kind: dict[str, int] | None = None) -> None:
    with interface.EndpointDescriptor() as endpoint:
        endpoint.bEndpointAddress = address
        endpoint.wMaxPacketSize = PACKET_BYTES
        for name, value in (kind or {}).items():
            setattr(endpoint, name, value)


def _classed(descriptor: Any, prefix: str, kind: tuple[int, int, int], names: tuple[str, str, str]) -> None:
    for name, value in zip(names, kind, strict=True):
        setattr(descriptor, prefix + name, value)


def _descriptors(luna: SimpleNamespace) -> Any:
    """A device with the two interfaces of a serial port."""
    cdc, into = luna.cdc, 0x80
    names = "Class", "Subclass", "Protocol"
    found = luna.Descriptors()
    with found.DeviceDescriptor() as device:
        device.idVendor, device.idProduct = VENDOR_ID, PRODUCT_ID
        device.iManufacturer, device.iProduct = MANUFACTURER, PRODUCT
        device.bNumConfigurations = 1
        _classed(device, "bDevice", ASSOCIATED, names)
    with found.ConfigurationDescriptor() as configuration:
        configuration.bConfigurationValue = CONFIGURATION
        with configuration.InterfaceAssociationDescriptor() as both:
            both.bFirstInterface, both.bInterfaceCount = 0, 2
            _classed(both, "bFunction", CONTROL, ("Class", "SubClass", "Protocol"))
        with configuration.InterfaceDescriptor() as control:
            control.bInterfaceNumber = 0
            _classed(control, "bInterface", CONTROL, names)
            control.add_subordinate_descriptor(cdc.HeaderDescriptorEmitter())
            call = cdc.CallManagementFunctionalDescriptorEmitter()
            call.bDataInterface = 1
            acm = cdc.ACMFunctionalDescriptorEmitter()
            acm.bmCapabilities = 0  # nothing beyond what every serial port takes
            union = cdc.UnionFunctionalDescriptorEmitter()
            union.bControlInterface, union.bSubordinateInterface0 = 0, 1
            for functional in (call, acm, union):
                control.add_subordinate_descriptor(functional)
            _endpoint(control, into | STATUS_ENDPOINT, {"bmAttributes": INTERRUPT, "bInterval": STATUS_MILLISECONDS})
        with configuration.InterfaceDescriptor() as data:
            data.bInterfaceNumber = 1
            _classed(data, "bInterface", DATA, names)
            _endpoint(data, DATA_ENDPOINT)
            _endpoint(data, into | DATA_ENDPOINT)
    return found


class UsbDevice(Elaboratable):
    """A serial port at raw USB lines, in the domains "usb" of 12 MHz and "usb_io" of 48 MHz.

    lines: d_p and d_n, each with i, o and oe, and pullup with o. received: bytes from the host. sent: bytes to it, of which one
    with `last` ends a packet. Both are LUNA's streams, in "usb".
    """

    def __init__(self, lines: Any):
        self._luna = luna = _luna()
        self.device = luna.Device(bus=lines, handle_clocking=False)
        control = self.device.add_standard_control_endpoint(_descriptors(luna), avoid_blockram=False)
        control.add_request_handler(_LineRequests(luna))
        status, self._to_host = _Status(self._in(STATUS_ENDPOINT)), _ToHost(self._in(DATA_ENDPOINT))
        from_host = _FromHost(luna.OutEndpoint(endpoint_number=DATA_ENDPOINT, max_packet_size=PACKET_BYTES))
        for endpoint in (status, from_host, self._to_host):
            self.device.add_endpoint(endpoint)
        self.received, self.sent = from_host.stream, self._to_host.stream

    def _in(self, number: int) -> Any:
        return self._luna.InEndpoint(endpoint_number=number, max_packet_size=PACKET_BYTES)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.device = self.device
        m.d.comb += self.device.connect.eq(1)
        return m
