// A cell of iCE40 as Yosys has it, in a form that is simulated several times as fast.

module SB_LUT4(output O, input I0, I1, I2, I3);
  parameter [15:0] LUT_INIT = 0;
  assign O = LUT_INIT[{I3, I2, I1, I0}];
endmodule
