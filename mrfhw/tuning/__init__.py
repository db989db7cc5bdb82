"""Which machine, clock and memories serve a job on a board: true points that are kept, queues, and the search. Nothing is built
here that `mrfhw.fpga` does not build."""
