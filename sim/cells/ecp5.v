// Cells of ECP5 that Yosys has no models of, in the modes that `sim.cells.models` lets pass.
//
// Known from Lattice's FPGA-DS-02012 (ECP5 family), FPGA-TN-02204 (memories) and FPGA-TN-02205 (multipliers).

// As Yosys has it, in a form that is simulated several times as fast.
module LUT4(input A, B, C, D, output Z);
  parameter [15:0] INIT = 0;
  assign Z = INIT[{D, C, B, A}];
endmodule

// A port of 36 bits has the pins of both, the lower half of its word at A.
module DP16KD(
  input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0,
  input ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
  input CLKA, CEA, OCEA, WEA, RSTA, CSA2, CSA1, CSA0,
  output DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0,
  input DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
  input ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
  input CLKB, CEB, OCEB, WEB, RSTB, CSB2, CSB1, CSB0,
  output DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0
);
  parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18, WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL";
  parameter REGMODE_A = "NOREG", REGMODE_B = "NOREG", RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC";
  parameter CSDECODE_A = "0b000", CSDECODE_B = "0b000", CLKAMUX = "CLKA", CLKBMUX = "CLKB", GSR = "ENABLED";
  parameter [319:0] `INIT_PARAMETERS(INITVAL_);

  // The data sheet has read before write only for ports of whole bytes.
  localparam WRITING = WRITEMODE_A == "READBEFOREWRITE" && DATA_WIDTH_A >= 9 ? "OLD" : "OPEN";
  wire [35:0] out_a, out_b;

  block_ram #(
    .WIDTH_A(DATA_WIDTH_A), .WIDTH_B(DATA_WIDTH_B), .WRITING(WRITING), .PAIR(20), .INIT(`INIT_VALUES(INITVAL_))
  ) ram (
    .clk_a(CLKA), .enable_a(CEA), .write_a(WEA),
    .address_a({ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0}),
    .data_a({DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
             DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0}),
    .out_a(out_a),
    .clk_b(CLKB), .enable_b(CEB), .reset_b(1'b0),
    .address_b({ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0}),
    .out_b(out_b)
  );
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0}
    = DATA_WIDTH_B == 36 ? out_b[17:0] : out_a[17:0];
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0}
    = DATA_WIDTH_B == 36 ? out_b[35:18] : out_b[17:0];
endmodule

module MULT18X18D(
  input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0,
  input B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0,
  input C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6, C5, C4, C3, C2, C1, C0,
  input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
  output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
  output P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0
);
  assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
          P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0}
    = $signed({SIGNEDA & A17, A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0})
    * $signed({SIGNEDB & B17, B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0});
endmodule

// A clock goes through from one low phase of it to another.
module DCCA(input CLKI, CE, output CLKO);
  reg open = 0;
  always @(CLKI or CE) if (!CLKI) open = CE;
  assign CLKO = CLKI & open;
endmodule

// Always locked; what frequencies it makes, and in what phase, is not simulated.
module EHXPLLL(
  input CLKI, CLKFB, RST, STDBY, PHASESEL1, PHASESEL0, PHASEDIR, PHASESTEP, PHASELOADREG, PLLWAKESYNC, ENCLKOP,
  output CLKOP, CLKOS2, LOCK
);
  parameter CLKI_DIV = 1, CLKFB_DIV = 1, CLKOP_DIV = 8, CLKOP_CPHASE = 0, CLKOP_FPHASE = 0, CLKOP_ENABLE = "ENABLED";
  parameter FEEDBK_PATH = "CLKOP", PLLRST_ENA = "DISABLED", INTFB_WAKE = "DISABLED", STDBY_ENABLE = "DISABLED";
  parameter DPHASE_SOURCE = "DISABLED", OUTDIVIDER_MUXA = "DIVA";
  parameter CLKOS2_DIV = 8, CLKOS2_CPHASE = 0, CLKOS2_FPHASE = 0, CLKOS2_ENABLE = "DISABLED";
  assign CLKOP = CLKI;
  assign CLKOS2 = CLKI;
  assign LOCK = 1;
endmodule
