# Needs Go 1.21 or newer and make, nothing else. The go command fetches the
# toolchain that go.mod asks for and the modules, once.
#
#	make run [ARGS="--config mcp.json"]   build fondaco and start it
#	make test                             every check, ends in one line of counts
#	make conformance [REPEAT=1]           the official conformance suite
#	make load | make fuzz [FUZZTIME=10s]  what measures time | what searches
#	make hostile | make soak [SOAKTIME=3m]  what attacks | what wears out
#	make bench [ROUNDS=3 | QUICK=1]       measure against a floor and other SDKs: docs/performance.md
#	make bench-gate [ALLOCATIONS=1]       fail where calls got slower | compare only what every machine has alike
#	make bench-baseline                   what bench-gate compares with
#	make mutants                          break what tests claim to show, and see them fail
#	make fmt | make api | make coverage   mend the format | rewrite the API record | docs/spec-coverage.md

export GOTOOLCHAIN := auto
export GOFLAGS     := -trimpath -buildvcs=false
export GOWORK      := off
export CGO_ENABLED := 0
FUZZTIME ?= 10s
SOAKTIME ?= 3m
REPEAT ?= 1

.PHONY: run build test coverage mutants peers load fuzz fuzz-smoke hostile soak conformance bench bench-gate bench-baseline fmt api tools go
.DEFAULT_GOAL := build

run: build
	@bin/fondaco up $(ARGS)

build: go
	@go build -o bin/ ./cmd/fondaco

test coverage mutants peers load fuzz hostile soak: tools
	@bin/tools/checks -fuzztime $(FUZZTIME) -soaktime $(SOAKTIME) $@

# Long enough to notice what any input finds, within four minutes.
fuzz-smoke: tools
	@bin/tools/checks -fuzztime 2s fuzz

conformance: go
	@go build -o bin/conformance/ ./conformance/...
	@bin/conformance/conformance -repeat $(REPEAT)

bench: go
	@bench/run

bench-gate: tools
	@go -C bench run ./gate $(if $(ALLOCATIONS),-allocations)

bench-baseline: go
	@go -C bench run ./gate -update

fmt: tools
	@bin/tools/gofumpt -l -w .

api: go
	@go test ./api -count 1 -v -run TestAPIIsRecorded -update

# The developer tools are pinned in tools/go.mod.
tools: go
	@echo "==> build the tools"
	@go -C tools build -o ../bin/tools/ tool

# A go command before 1.21 cannot fetch a newer toolchain.
go:
	$(if $(go-is-old),$(error fondaco needs Go 1.21 or newer on the PATH: install it from https://go.dev/dl and run make again))

go-is-old = $(shell case "$$(GOTOOLCHAIN=local go version 2>/dev/null)" in \
	("" | *\ go1.[0-9][.\ ]* | *\ go1.1[0-9][.\ ]* | *\ go1.20[.\ ]*) echo yes;; esac)
