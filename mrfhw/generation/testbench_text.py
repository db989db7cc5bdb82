"""The Verilog of testbenches, with places such as @TOP@ for names and numbers, which `mrfhw.generation.testbench` fills."""

from __future__ import annotations

__all__ = ["COUNT", "END", "READ", "RUN", "WRITE", "axi_text", "chip_text", "table_text"]

WRITE, READ, RUN, COUNT, END = range(5)  # of a step


def _filled(parts: dict[str, str]) -> str:
    kinds = {"KIND_WRITE": WRITE, "KIND_READ": READ, "KIND_RUN": RUN, "KIND_COUNT": COUNT, "KIND_END": END}
    text = _TEXT
    for name, value in {**parts, **kinds}.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def chip_text() -> str:
    """Of the machine with its own bus and log."""
    return _filled({"PORTS": _CHIP_PORTS, "LOG": _CHIP_LOG, "ACCESS": _CHIP_ACCESS, "IDLE": _CHIP_IDLE, "AWAIT": _CHIP_AWAIT})


def axi_text() -> str:
    """Of the machine with AXI ports (`mrfhw.gateware.soc.axi_top`), with a memory at its memory port."""
    return _filled({"PORTS": _AXI_PORTS, "LOG": _AXI_LOG, "ACCESS": _AXI_ACCESS, "IDLE": _AXI_IDLE, "AWAIT": _AXI_AWAIT})


def table_text(path: str, words: int, factor: int, total: int) -> str:
    """The comparison of a memory of the machine that nothing writes with the model's."""
    parts = {"PATH": path, "NAME": path.strip().replace("\\", 2 * "\\"), "WORDS": words, "FACTOR": factor, "TOTAL": f"{total:08x}"}
    text = _TABLE
    for name, value in parts.items():
        text = text.replace(f"@{name}@", str(value))
    return text


_TEXT = """\
// Testbench of @TOP@, generated with it by mrfhw. SPDX-License-Identifier: BSD-2-Clause
//
//     $ iverilog -g2005 -s @TOP@_tb -o tb @TOP@_tb.v @TOP@.v && vvp tb
//     $ verilator --binary -Wno-fatal --top-module @TOP@_tb @TOP@_tb.v @TOP@.v && obj_dir/V@TOP@_tb
//
// Small problems are loaded and run over the bus; log, counters, label memory and generators must be what the bit-exact model says.
// Of the argument +waves=FILE.vcd (Verilator: built with --trace) the signals are written there.
//
// Prints PASS, or FAIL with the first difference and ends with $fatal, so that the simulator's exit status is not 0.
// Define NETLIST for a synthesized machine, whose memories have other names: tables are then seen by what is drawn alone.

module @TOP@_tb;
  localparam WRITE = 3'd@KIND_WRITE@, READ = 3'd@KIND_READ@, RUN = 3'd@KIND_RUN@, COUNT = 3'd@KIND_COUNT@, END = 3'd@KIND_END@;
  localparam LABELS = @LABELS@;  // of a site's places in `counted`
  localparam PATIENCE = @PATIENCE@;  // cycles, twice those of the longest run

  reg clk, rst;
@PORTS@  initial clk = 1'b0;
  always #5 clk = ~clk;

  reg [66:0] step [0:@STEPS@-1];  // kind, address, word
  reg failed;
  integer number, place, waited, runs;
  reg [31:0] checked [0:@PLACES@-1];  // what has been compared of `counted`
  reg [2:0] kind;
  reg [31:0] address, word, found;

  task fail;
    begin
      failed = 1'b1;
      $fatal(1, "@TOP@ is not what the model says");
    end
  endtask

  // The log, which is taken in every cycle: a line is taken at the clock's edge after it is seen here. Nothing else writes these.
  reg [31:0] counted [0:@PLACES@];  // the sum of the messages of each site and label; of all others in the last place
  reg [@MESSAGE@-1:0] message;
  reg [31:0] at;
  integer ends, slot;

  initial begin
    ends = 0;
    for (slot = 0; slot <= @PLACES@; slot = slot + 1) counted[slot] = 0;
  end

  task take(input [@LINE@-1:0] line);
    begin
      for (slot = 0; slot < @MESSAGES@; slot = slot + 1) begin
        message = line[slot * @MESSAGE@ +: @MESSAGE@];
        if (message[@COUNT@] != 0) begin
          at = {message[@SITE@], message[@LABEL@]};
          if (at > @PLACES@) at = @PLACES@;
          counted[at] = counted[at] + message[@COUNT@];
        end
      end
    end
  endtask

@LOG@@ACCESS@  reg [8*1024-1:0] waves;

  initial begin
    if ($value$plusargs("waves=%s", waves)) begin  // +waves=FILE.vcd
      $dumpfile(waves);
      $dumpvars;
    end
    content;
    failed = 1'b0;
    runs = 0;
    rst = 1'b1;
@IDLE@    for (place = 0; place < @PLACES@; place = place + 1) checked[place] = 0;
    repeat (4) @(negedge clk);
`ifndef NETLIST
@TABLES@`endif
    rst = 1'b0;
    for (number = 0; number < @STEPS@ && !failed; number = number + 1) begin
      {kind, address, word} = step[number];
      case (kind)
        WRITE: access(1'b1);
        READ: begin
          access(1'b0);
          if (!failed && found !== word) begin
            $display("FAIL: step %0d: address %h reads %h, not %h", number, address, found, word);
            fail;
          end
        end
        RUN: begin
@AWAIT@          repeat (4) @(negedge clk);
        end
        COUNT: begin
          found = counted[address] - checked[address];
          checked[address] = counted[address];
          if (found !== word) begin
            $display("FAIL: step %0d: the log has label %0d of site %0d %0d times, not %0d", number, address % LABELS,
                     address / LABELS, found, word);
            fail;
          end
        end
        default: begin  // END of a run's log: nothing else is in it
          for (place = 0; place < @PLACES@; place = place + 1)
            if (counted[place] !== checked[place] && !failed) begin
              $display("FAIL: step %0d: the log has label %0d of site %0d", number, place % LABELS, place / LABELS);
              fail;
            end
          if (counted[@PLACES@] !== 0 && !failed) begin
            $display("FAIL: step %0d: the log has a site that the problem has not", number);
            fail;
          end
        end
      endcase
    end
    if (!failed) begin
      $display("PASS: %0d steps", number);
      $finish;
    end
  end

  task content;
    begin
@WORDS@
    end
  endtask
endmodule
"""
_TABLE = """\
    found = 0;
    for (place = 0; place < @WORDS@; place = place + 1) found = found * @FACTOR@ + dut.@PATH@[place];
    if (found !== 32'h@TOTAL@ && !failed) begin
      $display("FAIL: the words of @NAME@ are not the model's");
      fail;
    end
"""
_CHIP_PORTS = """\
  reg cyc, stb, we;
  reg [@ADDRESS@-1:0] adr;
  reg [31:0] dat_w;
  wire [31:0] dat_r;
  wire stall, ack, err;
  wire [@LINE@-1:0] tdata;
  wire tvalid, tlast;

  @TOP@ dut (
    .clk(clk), .rst(rst),
    .bus_cyc(cyc), .bus_stb(stb), .bus_we(we), .bus_adr(adr), .bus_dat_w(dat_w), .bus_stall(stall), .bus_dat_r(dat_r),
    .bus_ack(ack), .bus_err(err),
    .lines_tdata(tdata), .lines_tvalid(tvalid), .lines_tlast(tlast), .lines_tready(1'b1)
  );

"""
_CHIP_LOG = """\
  always @(negedge clk)
    if (rst === 1'b0 && tvalid) begin
      take(tdata);
      if (tlast) ends = ends + 1;
    end

"""
_CHIP_ACCESS = """\
  // One access: inputs change and outputs are seen at the clock's falling edge.
  task access(input write);
    begin
      cyc = 1'b1;
      stb = 1'b1;
      we = write;
      adr = address[@ADDRESS@-1:0];
      dat_w = word;
      waited = 0;
      @(negedge clk);
      stb = 1'b0;
      while (ack !== 1'b1 && err !== 1'b1 && waited < 1000) begin
        waited = waited + 1;
        @(negedge clk);
      end
      found = dat_r;
      if (ack !== 1'b1) begin
        $display("FAIL: step %0d: no ack of a %0s of address %h", number, write ? "write" : "read", address);
        fail;
      end
      cyc = 1'b0;
    end
  endtask

"""
_CHIP_IDLE = """\
    cyc = 1'b0;
    stb = 1'b0;
    we = 1'b0;
    adr = 0;
    dat_w = 0;
"""
_CHIP_AWAIT = """\
          waited = 0;
          runs = runs + 1;
          while (ends < runs && waited < PATIENCE) begin
            waited = waited + 1;
            @(negedge clk);
          end
          if (ends != runs) begin
            $display("FAIL: step %0d: the run has not ended after %0d cycles", number, waited);
            fail;
          end
"""
_AXI_PORTS = """\
  reg awvalid, wvalid, arvalid;
  reg [@BYTE_ADDRESS@-1:0] axi_address;
  reg [31:0] wdata;
  wire awready, wready, arready, bvalid, rvalid;
  wire [1:0] bresp, rresp;
  wire [31:0] rdata;
  wire [@LINE@-1:0] tdata;
  wire tvalid, tlast;
  wire [@MEMORY_ADDRESS@-1:0] memory_address;
  wire [7:0] memory_beats;
  wire [@DATA@-1:0] memory_data;
  wire [@BEAT_BYTES@-1:0] memory_strobes;
  wire memory_awvalid, memory_wvalid, memory_wlast;
  reg memory_bvalid;

  @TOP@ dut (
    .clk(clk), .rst(rst),
    .s_axi_awaddr(axi_address), .s_axi_awprot(3'd0), .s_axi_awvalid(awvalid), .s_axi_awready(awready),
    .s_axi_wdata(wdata), .s_axi_wstrb(4'hf), .s_axi_wvalid(wvalid), .s_axi_wready(wready),
    .s_axi_bresp(bresp), .s_axi_bvalid(bvalid), .s_axi_bready(1'b1),
    .s_axi_araddr(axi_address), .s_axi_arprot(3'd0), .s_axi_arvalid(arvalid), .s_axi_arready(arready),
    .s_axi_rdata(rdata), .s_axi_rresp(rresp), .s_axi_rvalid(rvalid), .s_axi_rready(1'b1),
    .m_axi_awaddr(memory_address), .m_axi_awlen(memory_beats), .m_axi_awvalid(memory_awvalid), .m_axi_awready(1'b1),
    .m_axi_wdata(memory_data), .m_axi_wstrb(memory_strobes), .m_axi_wlast(memory_wlast), .m_axi_wvalid(memory_wvalid),
    .m_axi_wready(1'b1), .m_axi_bid(1'b0), .m_axi_bresp(2'd0), .m_axi_bvalid(memory_bvalid),
    .m_axi_arready(1'b0), .m_axi_rid(1'b0), .m_axi_rdata(@DATA@'d0), .m_axi_rresp(2'd0), .m_axi_rlast(1'b0), .m_axi_rvalid(1'b0),
    .m_axis_tdata(tdata), .m_axis_tvalid(tvalid), .m_axis_tlast(tlast), .m_axis_tready(1'b1)
  );

  integer polls;
  reg [31:0] asked_for, source;

"""
_AXI_LOG = """\
  // The memory takes every address and beat at once. Its beats are the log's lines, in order; its addresses go round the ring.
  integer asked, ended, answered;  // bursts
  integer beat;
  reg [31:0] position;
  reg [@LINE@-1:0] line;

  initial begin
    memory_bvalid = 1'b0;
    asked = 0;
    ended = 0;
    answered = 0;
    beat = 0;
    position = 0;
  end

  always @(negedge clk)
    if (rst === 1'b0) begin
      memory_bvalid = answered < asked && answered < ended;
      if (memory_bvalid) answered = answered + 1;
      if (memory_awvalid) begin
        if (memory_address !== @RING_BASE@ + position && !failed) begin
          $display("FAIL: step %0d: a burst of the log goes to address %h, not %h", number, memory_address, @RING_BASE@ + position);
          fail;
        end
        position = position + (memory_beats + 1) * @BEAT_BYTES@;
        if (position == @RING_SIZE@) position = 0;
        asked = asked + 1;
      end
      if (memory_wvalid) begin
        if (&memory_strobes !== 1'b1 && !failed) begin
          $display("FAIL: step %0d: a beat of the log has strobes %h", number, memory_strobes);
          fail;
        end
        line[beat * @DATA@ +: @DATA@] = memory_data;
        beat = beat + 1;
        if (beat == @BEATS@) begin
          beat = 0;
          take(line);
        end
        if (memory_wlast) ended = ended + 1;
      end
      if (tvalid) begin
        take(tdata);
        if (tlast) ends = ends + 1;
      end
    end

"""
_AXI_ACCESS = """\
  // One access: inputs change and outputs are seen at the clock's falling edge, but `ready`, which is seen before the rising one.
  reg aw_taken, w_taken, ar_taken;

  task access(input write);
    begin
      awvalid = write;
      wvalid = write;
      arvalid = !write;
      axi_address = {address[@ADDRESS@-1:0], {@WORD_BYTES_LOG2@{1'b0}}};
      wdata = word;
      waited = 0;
      while ((write ? bvalid : rvalid) !== 1'b1 && waited < 1000) begin
        aw_taken = awready;
        w_taken = wready;
        ar_taken = arready;
        waited = waited + 1;
        @(negedge clk);
        if (aw_taken) awvalid = 1'b0;
        if (w_taken) wvalid = 1'b0;
        if (ar_taken) arvalid = 1'b0;
      end
      found = rdata;
      if ((write ? {bvalid, bresp} : {rvalid, rresp}) !== 3'b100) begin
        $display("FAIL: step %0d: no answer to a %0s of address %h, or an error", number, write ? "write" : "read", address);
        fail;
      end
      awvalid = 1'b0;
      wvalid = 1'b0;
      arvalid = 1'b0;
      @(negedge clk);
    end
  endtask

"""
_AXI_IDLE = """\
    awvalid = 1'b0;
    wvalid = 1'b0;
    arvalid = 1'b0;
    axi_address = 0;
    wdata = 0;
"""
_AXI_AWAIT = """\
          if (address == 0) begin  // the log goes to the stream
            waited = 0;
            runs = runs + 1;
            while (ends < runs && waited < PATIENCE) begin
              waited = waited + 1;
              @(negedge clk);
            end
            if (ends != runs) begin
              $display("FAIL: step %0d: the run has not ended after %0d cycles", number, waited);
              fail;
            end
          end else begin  // to memory: all of it is freed as soon as it is there
            asked_for = word;
            source = address;
            found = ~word;
            for (polls = 0; found !== asked_for && polls < PATIENCE && !failed; polls = polls + 1) begin
              address = source;
              access(1'b0);
              word = found;
              address = @FREED@;
              if (!failed) access(1'b1);
              found = word;
            end
            if (found !== asked_for && !failed) begin
              $display("FAIL: step %0d: memory has %0d bytes of the log, not %0d", number, found, asked_for);
              fail;
            end
          end
"""
