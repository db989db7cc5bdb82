// Cells of ECP5 at the pins of an Ethernet PHY, for simulation: what Lattice's FPGA-TN-02035 (High-Speed I/O) says of them.

// Steps of 25 ps; without them where a simulator's PHY changes data between the clock's edges.
module DELAYG(input A, output Z);
  parameter DEL_MODE = "USER_DEFINED";
  parameter DEL_VALUE = 0;
`ifdef VERILATOR
  assign Z = A;
`else
  assign #(DEL_VALUE * 0.025) Z = A;
`endif
endmodule

// D at the rising edge and at the falling one after it, both at the rising edge that follows.
module IDDRX1F(input SCLK, RST, D, output reg Q0, Q1);
  reg high, low;
  initial {high, low, Q0, Q1} = 0;
  always @(posedge SCLK) begin
    high <= D;
    Q0 <= high;
    Q1 <= low;
  end
  always @(negedge SCLK) low <= D;
endmodule

// D0 while the clock is high, D1 while it is low.
module ODDRX1F(input SCLK, RST, D0, D1, output Q);
  reg high, low;
  initial {high, low} = 0;
  always @(posedge SCLK) begin
    high <= D0;
    low <= D1;
  end
  assign Q = SCLK ? high : low;
endmodule

module FD1S3BX(input D, CK, PD, output reg Q);
  always @(posedge CK or posedge PD) Q <= PD ? 1'b1 : D;
endmodule
