// As Yosys has it, in a form that is simulated several times as fast.

module SB_LUT4(output O, input I0, I1, I2, I3);
  parameter [15:0] LUT_INIT = 0;
  assign O = LUT_INIT[{I3, I2, I1, I0}];
endmodule

// Always locked; what frequency it makes is not simulated.
module SB_PLL40_PAD(input PACKAGEPIN, RESETB, BYPASS, output PLLOUTGLOBAL, LOCK);
  parameter FEEDBACK_PATH = "SIMPLE", DIVR = 0, DIVF = 0, DIVQ = 0, FILTER_RANGE = 0;
  assign PLLOUTGLOBAL = PACKAGEPIN;
  assign LOCK = 1;
endmodule
