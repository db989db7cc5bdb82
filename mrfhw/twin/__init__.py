"""The bit-exact twin of a machine: what it computes, and in which cycles. Nothing of Amaranth or of links."""
