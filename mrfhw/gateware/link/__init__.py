"""A serial link to a host: frames, retransmission, UART. What its frames mean stands in machine/link_protocol.py."""
