// Cells of Gowin's GW1N and GW2A that Yosys has no models of, in the modes that `sim.cells.models` lets pass.
//
// Known from Gowin's UG285 (memories) and UG287 (multipliers).

// As Yosys has them, in a form that is simulated several times as fast.
module LUT1(output F, input I0);
  parameter [1:0] INIT = 0;
  assign F = INIT[{I0}];
endmodule

module LUT2(output F, input I0, I1);
  parameter [3:0] INIT = 0;
  assign F = INIT[{I1, I0}];
endmodule

module LUT3(output F, input I0, I1, I2);
  parameter [7:0] INIT = 0;
  assign F = INIT[{I2, I1, I0}];
endmodule

module LUT4(output F, input I0, I1, I2, I3);
  parameter [15:0] INIT = 0;
  assign F = INIT[{I3, I2, I1, I0}];
endmodule

module SP(
  input CLK, CE, OCE, RESET, WRE,
  input [2:0] BLKSEL,
  input [13:0] AD,
  input [31:0] DI,
  output [31:0] DO
);
  parameter READ_MODE = 0, WRITE_MODE = 0, BIT_WIDTH = 32, BLK_SEL = 0, RESET_MODE = "SYNC";
  parameter [255:0] `INIT_PARAMETERS(INIT_RAM_);
  localparam WRITING = WRITE_MODE == 2 ? "OLD" : WRITE_MODE == 1 ? "NEW" : "OPEN";
  block_ram #(.WIDTH_A(BIT_WIDTH), .WRITING(WRITING), .BYTE(8), .PAIR(16), .INIT(`INIT_VALUES(INIT_RAM_))) ram (
    .clk_a(CLK), .enable_a(CE), .write_a(WRE), .address_a(AD), .data_a(DI), .out_a(DO), .clk_b(1'b0), .address_b(14'd0)
  );
endmodule

module SPX9(
  input CLK, CE, OCE, RESET, WRE,
  input [2:0] BLKSEL,
  input [13:0] AD,
  input [35:0] DI,
  output [35:0] DO
);
  parameter READ_MODE = 0, WRITE_MODE = 0, BIT_WIDTH = 36, BLK_SEL = 0, RESET_MODE = "SYNC";
  parameter [287:0] `INIT_PARAMETERS(INIT_RAM_);
  localparam WRITING = WRITE_MODE == 2 ? "OLD" : WRITE_MODE == 1 ? "NEW" : "OPEN";
  block_ram #(.WIDTH_A(BIT_WIDTH), .WRITING(WRITING), .INIT(`INIT_VALUES(INIT_RAM_))) ram (
    .clk_a(CLK), .enable_a(CE), .write_a(WRE), .address_a(AD), .data_a(DI), .out_a(DO), .clk_b(1'b0), .address_b(14'd0)
  );
endmodule

module SDPX9B(
  input CLKA, CEA, RESETA, CLKB, CEB, OCE, RESETB,
  input [2:0] BLKSELA, BLKSELB,
  input [13:0] ADA, ADB,
  input [35:0] DI,
  output [35:0] DO
);
  parameter READ_MODE = 0, BIT_WIDTH_0 = 36, BIT_WIDTH_1 = 36, BLK_SEL_0 = 0, BLK_SEL_1 = 0, RESET_MODE = "SYNC";
  parameter [287:0] `INIT_PARAMETERS(INIT_RAM_);
  block_ram #(.WIDTH_A(BIT_WIDTH_0), .WIDTH_B(BIT_WIDTH_1), .INIT(`INIT_VALUES(INIT_RAM_))) ram (
    .clk_a(CLKA), .enable_a(CEA), .write_a(1'b1), .address_a(ADA), .data_a(DI),
    .clk_b(CLKB), .enable_b(CEB), .reset_b(RESETB), .address_b(ADB), .out_b(DO)
  );
endmodule

module DPB(
  input CLKA, CEA, OCEA, RESETA, WREA, CLKB, CEB, OCEB, RESETB, WREB,
  input [2:0] BLKSELA, BLKSELB,
  input [13:0] ADA, ADB,
  input [15:0] DIA, DIB,
  output [15:0] DOA, DOB
);
  parameter READ_MODE0 = 0, READ_MODE1 = 0, WRITE_MODE0 = 0, WRITE_MODE1 = 0, BIT_WIDTH_0 = 16, BIT_WIDTH_1 = 16;
  parameter BLK_SEL_0 = 0, BLK_SEL_1 = 0, RESET_MODE = "SYNC";
  parameter [255:0] `INIT_PARAMETERS(INIT_RAM_);
  localparam WRITING = WRITE_MODE0 == 2 ? "OLD" : WRITE_MODE0 == 1 ? "NEW" : "OPEN";
  wire [35:0] out_a, out_b;
  // Bytes of nine bits whose highest one is not used.
  assign DOA = {out_a[16:9], out_a[7:0]};
  assign DOB = {out_b[16:9], out_b[7:0]};
  block_ram #(
    .WIDTH_A(BIT_WIDTH_0 < 8 ? BIT_WIDTH_0 : BIT_WIDTH_0 / 8 * 9), .WIDTH_B(BIT_WIDTH_1 < 8 ? BIT_WIDTH_1 : BIT_WIDTH_1 / 8 * 9),
    .WRITING(WRITING), .BYTE(8), .PAIR(16), .INIT(`INIT_VALUES(INIT_RAM_))
  ) ram (
    .clk_a(CLKA), .enable_a(CEA), .write_a(WREA), .address_a(ADA), .data_a({19'd0, DIA[15:8], 1'b0, DIA[7:0]}), .out_a(out_a),
    .clk_b(CLKB), .enable_b(CEB), .reset_b(RESETB), .address_b(ADB), .out_b(out_b)
  );
endmodule

module DPX9B(
  input CLKA, CEA, OCEA, RESETA, WREA, CLKB, CEB, OCEB, RESETB, WREB,
  input [2:0] BLKSELA, BLKSELB,
  input [13:0] ADA, ADB,
  input [17:0] DIA, DIB,
  output [17:0] DOA, DOB
);
  parameter READ_MODE0 = 0, READ_MODE1 = 0, WRITE_MODE0 = 0, WRITE_MODE1 = 0, BIT_WIDTH_0 = 18, BIT_WIDTH_1 = 18;
  parameter BLK_SEL_0 = 0, BLK_SEL_1 = 0, RESET_MODE = "SYNC";
  parameter [287:0] `INIT_PARAMETERS(INIT_RAM_);
  localparam WRITING = WRITE_MODE0 == 1 ? "NEW" : "OPEN";
  block_ram #(.WIDTH_A(BIT_WIDTH_0), .WIDTH_B(BIT_WIDTH_1), .WRITING(WRITING), .INIT(`INIT_VALUES(INIT_RAM_))) ram (
    .clk_a(CLKA), .enable_a(CEA), .write_a(WREA), .address_a(ADA), .data_a(DIA), .out_a(DOA),
    .clk_b(CLKB), .enable_b(CEB), .reset_b(RESETB), .address_b(ADB), .out_b(DOB)
  );
endmodule

module MULT9X9(
  input [8:0] A, SIA, B, SIB,
  input ASIGN, BSIGN, ASEL, BSEL, CE, CLK, RESET,
  output [17:0] DOUT
);
  assign DOUT = $signed({ASIGN & A[8], A}) * $signed({BSIGN & B[8], B});
endmodule

module MULT18X18(
  input [17:0] A, SIA, B, SIB,
  input ASIGN, BSIGN, ASEL, BSEL, CE, CLK, RESET,
  output [35:0] DOUT
);
  assign DOUT = $signed({ASIGN & A[17], A}) * $signed({BSIGN & B[17], B});
endmodule

// Always locked; what frequency it makes is not simulated.
module rPLL(
  input CLKIN, CLKFB, RESET, RESET_P, input [5:0] FBDSEL, IDSEL, ODSEL, input [3:0] PSDA, DUTYDA, FDLY,
  output CLKOUT, LOCK
);
  parameter FCLKIN = "27", DEVICE = "GW1NR-9C", IDIV_SEL = 0, FBDIV_SEL = 0, ODIV_SEL = 8, DYN_SDIV_SEL = 2;
  parameter DYN_IDIV_SEL = "false", DYN_FBDIV_SEL = "false", DYN_ODIV_SEL = "false", DYN_DA_EN = "false";
  parameter PSDA_SEL = "0000", DUTYDA_SEL = "1000", CLKFB_SEL = "internal", CLKOUTD_SRC = "CLKOUT", CLKOUTD3_SRC = "CLKOUT";
  parameter CLKOUT_BYPASS = "false", CLKOUTP_BYPASS = "false", CLKOUTD_BYPASS = "false";
  assign CLKOUT = CLKIN;
  assign LOCK = 1;
endmodule
