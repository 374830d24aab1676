# Needs Go 1.21 or newer and make, nothing else. The go command fetches the
# toolchain that go.mod asks for and the modules, once.
#
#	make run [ARGS="--config mcp.json"]   build fondaco and start it
#	make test                             every check, ends in one line of counts
#	make conformance [REPEAT=1]           the official conformance suite
#	make load | make fuzz [FUZZTIME=10s]  what measures time | what searches
#	make mutants                          break what tests claim to show, and see them fail
#	make fmt | make api | make coverage   mend the format | rewrite the API record | docs/spec-coverage.md

export GOTOOLCHAIN := auto
export GOFLAGS     := -trimpath -buildvcs=false
export GOWORK      := off
export CGO_ENABLED := 0
FUZZTIME ?= 10s
REPEAT ?= 1

.PHONY: run build test coverage mutants peers load fuzz conformance fmt api tools go
.DEFAULT_GOAL := build

run: build
	@bin/fondaco up $(ARGS)

build: go
	@go build -o bin/ ./cmd/fondaco

test coverage mutants peers load fuzz: tools
	@bin/tools/checks -fuzztime $(FUZZTIME) $@

conformance: go
	@go build -o bin/conformance/ ./conformance/...
	@bin/conformance/conformance -repeat $(REPEAT)

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
