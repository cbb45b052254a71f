# make demo    set everything up in .venv and run the demo
# make test    set everything up and run the tests
#
# SYSTEM=1             use the Python and the torch that are installed, instead of .venv
# TORCH_INDEX=URL      take torch from another package index, for a CUDA build, say
# PYTHON=python3.12    make .venv with another Python

PYTHON ?= python3
OUT ?= runs/demo

ifdef SYSTEM
RUN := $(PYTHON)
INSTALL := $(PYTHON) -m pip install --quiet
READY := .venv-system
else
RUN := .venv/bin/python
INSTALL := .venv/bin/python -m pip install --quiet --constraint constraints.txt
READY := .venv/ready
endif

.PHONY: demo test slow setup clean

demo: $(READY)
	$(RUN) -m cassle demo --out $(OUT)

test: $(READY)
	$(RUN) -m pytest -n 2

slow: $(READY)
	$(RUN) -m pytest -m slow

setup: $(READY)

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("cassle needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(INSTALL) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch
	$(INSTALL) --editable '.[dev]'
	touch $@

.venv-system: pyproject.toml
	$(INSTALL) --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .venv-system
