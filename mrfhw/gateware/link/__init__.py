"""A link to a host: frames on a serial line or in datagrams. What they mean stands in machine/link_protocol.py."""
