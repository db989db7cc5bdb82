"""A link to a host: frames on a serial line or in datagrams, retransmission, UART. What its frames mean stands in machine/link_protocol.py."""
