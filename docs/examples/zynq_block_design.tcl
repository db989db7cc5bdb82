# A Vivado block design around the generated machine. Written from the manuals; no Vivado has run it yet.
#
#   mrfhw generate --spes 16 --spus 2 --top axi -o mrfhw_axi
#   vivado -mode batch -source zynq_block_design.tcl -tclargs mrfhw_axi zynqmp xck26-sfvc784-2LV-c
#   vivado -mode batch -source zynq_block_design.tcl -tclargs mrfhw_axi zynq7 xc7z020clg400-1
#
# Arguments: what mrfhw generate wrote, the family (zynq7 or zynqmp), the part. The processing system has the part's default
# settings: apply your board's preset (DDR, MIO) where the script says so.

if {[llength $argv] != 3 || [lindex $argv 1] ni {zynq7 zynqmp}} {
    error "give: DIRECTORY zynq7|zynqmp PART"
}
lassign $argv directory family part

# The machine's window, from its register map: a power of two of bytes.
set map [open [file join $directory registers.json]]
if {![regexp {"byte_address_bits": (\d+)} [read $map] - window_bits]} {
    error "$directory has no AXI ports: generate it with --top axi"
}
close $map

create_project mrfhw_soc mrfhw_soc -part $part -force
add_files [file join $directory mrfhw_axi_top.v]
update_compile_order -fileset sources_1
create_bd_design soc

if {$family eq "zynq7"} {
    set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7 ps]
    set_property -dict {CONFIG.PCW_USE_M_AXI_GP0 1 CONFIG.PCW_USE_S_AXI_HP0 1 CONFIG.PCW_S_AXI_HP0_DATA_WIDTH 64
                        CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ 100} $ps
    lassign {M_AXI_GP0 S_AXI_HP0 FCLK_CLK0 FCLK_RESET0_N 0x40000000} master slave clock reset base
    set port_clocks {M_AXI_GP0_ACLK S_AXI_HP0_ACLK}
} else {
    set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:zynq_ultra_ps_e ps]
    # GP0 is HPM0_FPD, GP2 of the slaves is HP0_FPD.
    set_property -dict {CONFIG.PSU__USE__M_AXI_GP0 1 CONFIG.PSU__USE__M_AXI_GP1 0 CONFIG.PSU__USE__M_AXI_GP2 0
                        CONFIG.PSU__USE__S_AXI_GP2 1 CONFIG.PSU__SAXIGP2__DATA_WIDTH 64
                        CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ 100} $ps
    lassign {M_AXI_HPM0_FPD S_AXI_HP0_FPD pl_clk0 pl_resetn0 0xA0000000} master slave clock reset base
    set port_clocks {maxihpm0_fpd_aclk saxihp0_fpd_aclk}
}
# Your board's preset: apply_bd_automation or set_property -dict [apply_preset ...] $ps

set machine [create_bd_cell -type module -reference mrfhw_axi_top mrfhw]
set_property CONFIG.ASSOCIATED_BUSIF {s_axi:m_axi:m_axis} [get_bd_pins mrfhw/clk]
set_property CONFIG.POLARITY ACTIVE_HIGH [get_bd_pins mrfhw/rst]

set resets [create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset resets]
foreach {name} {registers memory} {
    create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect $name
    set_property -dict {CONFIG.NUM_SI 1 CONFIG.NUM_MI 1} [get_bd_cells $name]
}
# Nothing takes the stream in this design: log_target stays 0.
set idle [create_bd_cell -type ip -vlnv xilinx.com:ip:xlconstant idle]
set_property CONFIG.CONST_VAL 0 $idle
connect_bd_net [get_bd_pins idle/dout] [get_bd_pins mrfhw/m_axis_tready]

foreach {pin} [list mrfhw/clk registers/aclk memory/aclk resets/slowest_sync_clk ps/[lindex $port_clocks 0] ps/[lindex $port_clocks 1]] {
    connect_bd_net [get_bd_pins ps/$clock] [get_bd_pins $pin]
}
connect_bd_net [get_bd_pins ps/$reset] [get_bd_pins resets/ext_reset_in]
connect_bd_net [get_bd_pins resets/peripheral_reset] [get_bd_pins mrfhw/rst]
connect_bd_net [get_bd_pins resets/peripheral_aresetn] [get_bd_pins registers/aresetn] [get_bd_pins memory/aresetn]

connect_bd_intf_net [get_bd_intf_pins ps/$master] [get_bd_intf_pins registers/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins registers/M00_AXI] [get_bd_intf_pins mrfhw/s_axi]
connect_bd_intf_net [get_bd_intf_pins mrfhw/m_axi] [get_bd_intf_pins memory/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins memory/M00_AXI] [get_bd_intf_pins ps/$slave]

assign_bd_address -offset $base -range [expr {1 << $window_bits}] -target_address_space ps/Data [get_bd_addr_segs mrfhw/s_axi/*]
assign_bd_address -target_address_space mrfhw/m_axi [get_bd_addr_segs ps/*HP0*DDR_LOW*]

validate_bd_design
save_bd_design
make_wrapper -files [get_files soc.bd] -top -import
