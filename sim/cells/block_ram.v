// A block RAM of 2048 bytes of nine bits with two ports on one clock, as ECP5 and Gowin have it.
//
// Port A reads and writes, port B reads. A port of 36, 18 or 9 bits has four, two or one byte; one of 4, 2 or 1 has that part of a
// byte's lower eight. An address counts single bits of those eight; the lowest ones, which a port of several bytes leaves out,
// enable the bytes that it writes. What the vendors leave open comes with random bits wrong: what port B reads of a word that port
// A writes in the same cycle, and what port A then reads, where its mode does not say it.
module block_ram #(
  parameter WIDTH_A = 9,
  parameter WIDTH_B = 9,
  parameter WRITING = "OPEN", // what port A reads where it writes: what is "OLD", what is "NEW", or that is "OPEN"
  parameter BYTE = 9, // bits of a byte in INIT
  parameter PAIR = 18, // bits from one pair of bytes to the next in INIT
  parameter [20479:0] INIT = 0
) (
  input clk_a, enable_a, write_a,
  input [13:0] address_a,
  input [35:0] data_a,
  output reg [35:0] out_a,
  input clk_b, enable_b, reset_b,
  input [13:0] address_b,
  output reg [35:0] out_b
);
  localparam BYTES_A = WIDTH_A / 9;
  localparam WIDER = WIDTH_A > WIDTH_B ? WIDTH_A : WIDTH_B;
  localparam LOW = $clog2(WIDER < 9 ? WIDER : WIDER / 9 * 8); // the lowest bit of an address in which words of both ports differ

  reg [8:0] bytes [0:2047];
  reg [35:0] noise;

  initial begin : start
    reg [20479:0] contents;
    integer n;
    contents = INIT;
    for (n = 0; n < 2048; n = n + 1)
      bytes[n] = contents[n / 2 * PAIR + n % 2 * BYTE +: 9];
    noise = 36'h9E3779B97;
    out_a = 0;
    out_b = 0;
  end

  function [35:0] word(input integer width, input [13:0] address);
    integer lane;
    begin
      word = 0;
      case (width)
        1: word[0] = bytes[address[13:3]][address[2:0]];
        2: word[1:0] = bytes[address[13:3]][{address[2:1], 1'd0} +: 2];
        4: word[3:0] = bytes[address[13:3]][{address[2], 2'd0} +: 4];
        default: for (lane = 0; lane < 4; lane = lane + 1)
          if (lane < width / 9) word[9 * lane +: 9] = bytes[address[13:3] & ~(width / 9 - 1) | lane];
      endcase
    end
  endfunction

  wire [3:0] enabled = BYTES_A < 2 ? 1 : BYTES_A == 2 ? address_a[1:0] : address_a[3:0];
  wire [3:0] written = enable_a && write_a ? enabled : 0;
  wire met = written != 0 && address_a[13:LOW] == address_b[13:LOW];

  always @(posedge clk_a) begin : write
    integer lane;
    case (WIDTH_A)
      1: if (written[0]) bytes[address_a[13:3]][address_a[2:0]] <= data_a[0];
      2: if (written[0]) bytes[address_a[13:3]][{address_a[2:1], 1'd0} +: 2] <= data_a[1:0];
      4: if (written[0]) bytes[address_a[13:3]][{address_a[2], 2'd0} +: 4] <= data_a[3:0];
      default: for (lane = 0; lane < BYTES_A; lane = lane + 1)
        if (written[lane]) bytes[address_a[13:3] & ~(BYTES_A - 1) | lane] <= data_a[9 * lane +: 9];
    endcase
  end

  always @(posedge clk_a) begin : read
    integer lane;
    noise <= {noise[34:0], noise[35] ^ noise[24]};
    if (enable_a)
      if (!write_a || WRITING == "OLD") out_a <= word(WIDTH_A, address_a);
      else if (WRITING == "OPEN") out_a <= word(WIDTH_A, address_a) ^ noise;
      else for (lane = 0; lane < 4; lane = lane + 1)
        out_a[9 * lane +: 9] <= data_a[9 * lane +: 9] ^ (written[lane] ? 0 : noise[9 * lane +: 9]);
  end

  always @(posedge clk_b)
    if (reset_b) out_b <= 0;
    else if (enable_b) out_b <= word(WIDTH_B, address_b) ^ (met ? noise : 0);
endmodule

// Of a block RAM's initial contents: 64 parameters whose names end with two hexadecimal digits, and their values, the first lowest.
`define INIT_SIXTEEN(NAME) NAME``0 = 0, NAME``1 = 0, NAME``2 = 0, NAME``3 = 0, NAME``4 = 0, NAME``5 = 0, NAME``6 = 0, NAME``7 = 0, \
  NAME``8 = 0, NAME``9 = 0, NAME``A = 0, NAME``B = 0, NAME``C = 0, NAME``D = 0, NAME``E = 0, NAME``F = 0
`define INIT_PARAMETERS(NAME) `INIT_SIXTEEN(NAME``0), `INIT_SIXTEEN(NAME``1), `INIT_SIXTEEN(NAME``2), `INIT_SIXTEEN(NAME``3)
`define SIXTEEN(NAME) NAME``F, NAME``E, NAME``D, NAME``C, NAME``B, NAME``A, NAME``9, NAME``8, \
  NAME``7, NAME``6, NAME``5, NAME``4, NAME``3, NAME``2, NAME``1, NAME``0
`define INIT_VALUES(NAME) {`SIXTEEN(NAME``3), `SIXTEEN(NAME``2), `SIXTEEN(NAME``1), `SIXTEEN(NAME``0)}
