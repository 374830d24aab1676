# Needs Go 1.21 or newer and make, nothing else. The go command downloads the
# toolchain that go.mod asks for and the modules, once.
#
#	make run [ARGS="--config mcp.json"]   build fondaco and start it
#	make test                             format and all tests; ends in a report and one line of counts
#	make lint                             vet and staticcheck; types for macOS and Windows; workflows
#	make nightly [TOPICS="race peers"]    all that .ci/run leaves out, or some of it: .ci/nightly
#	make slowest                          the packages and tests that took longest in the last run
#	make platforms                        vet and build for every platform, staticcheck for Windows
#	make race                             tests of the packages with most concurrency under the race detector
#	make race-rest                        the other tests under the race detector
#	make hosts                            deviating peers behind hosts
#	make flaky                            tests with processes many times, to find what fails by chance
#	make tools                            tests of the developer tools and of the benchmarks
#	make vulnerabilities                  govulncheck
#	make foreign                          the newest foreign SDKs (needs Node)
#	make peers                            all other implementations (needs Node)
#	make conformance [REPEAT=1]           the official conformance suite (needs npm)
#	make fuzz [FUZZTIME=10s FUZZLONG=60s] run each fuzz target
#	make hostile                          malformed messages over every transport
#	make soak [SOAKTIME=3m]               clients that come and go, and replicas under random faults
#	make console                          the console in Chromium (needs it and npm)
#	make replicas [KILLTIME=25s]          kill replicas that share sessions, with each engine
#	make load                             tests that measure time
#	make scale                            measure replicas with each engine: docs/scale.md
#	make mutants                          break what tests claim to show, and see them fail
#	make bench [ROUNDS=5 | QUICK=1]       compare with other SDKs: docs/performance.md
#	make performance                      fail if docs/performance.md has figures of more than fifty commits ago
#	make bench-gate [ALLOCATIONS=1]       fail if calls became slower | compare allocations only
#	make bench-baseline                   write what bench-gate compares with
#	make release [SNAPSHOT=1]             the archives of a tag, and publish them | of this commit, in bin/release
#	make release-check                    archives of this commit: built twice, and run with nothing beside them
#	make nats-server                      build the NATS server that tests start
#	make fmt | make api | make coverage   format | rewrite the API record (RELEASED=1: as released) | write bin/spec-coverage.md

export GOTOOLCHAIN := auto
export GOFLAGS     := -trimpath -buildvcs=false
export GOWORK      := off
export CGO_ENABLED := 0
FUZZTIME ?= 10s
FUZZLONG ?= 60s
SOAKTIME ?= 3m
KILLTIME ?= 25s
REPEAT ?= 1

suites := test coverage race race-rest hosts flaky tools lint conformance platforms vulnerabilities mutants foreign peers load fuzz hostile console replicas soak release-check performance

.PHONY: run build $(suites) slowest nightly release fuzz-smoke bench bench-gate bench-baseline scale nats-server fmt api checks go
.DEFAULT_GOAL := build

run: build
	@bin/fondaco up $(ARGS)

# The version is that of the commit, where git knows it.
build: go
	@go build -buildvcs=$$(git rev-parse -q --verify HEAD >/dev/null 2>&1 && echo true || echo false) -o bin/ ./cmd/fondaco

$(suites): checks
	@bin/tools/checks -fuzztime $(FUZZTIME) -fuzzlong $(FUZZLONG) -soaktime $(SOAKTIME) -killtime $(KILLTIME) -repeat $(REPEAT) $@

slowest: checks
	@bin/tools/checks slowest

nightly: checks nats-server
	@.ci/nightly $(TOPICS)

# Finds what almost any input shows, in less than four minutes.
fuzz-smoke: checks
	@bin/tools/checks -fuzztime 2s -fuzzlong $(FUZZLONG) fuzz

bench: go
	@bench/run

bench-gate: bin/tools/benchstat
	@go -C bench run ./gate $(if $(ALLOCATIONS),-allocations)

bench-baseline: go
	@go -C bench run ./gate -update

# Needs Linux, Redis and PostgreSQL. The tables go to docs/scale.md by hand.
scale: nats-server
	@go test -run ^TestScale$$ -count 1 -timeout 20m ./proof/scale -table $(CURDIR)/bin/scale.md
	@cat bin/scale.md

# GoReleaser takes no commit from a clone without a remote.
goreleaser = PATH="$(CURDIR)/bin/tools:$$PATH" GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/fondaco/fondaco goreleaser

# The notes of a release are its section of CHANGELOG.md.
release: bin/tools/goreleaser bin/tools/cyclonedx-gomod
	@awk '/^## / { on = $$2 == "[" substr(tag, 2) "]"; next } on' tag="$$(git describe --tags --exact-match 2>&1)" CHANGELOG.md >bin/notes.md
	@$(goreleaser) release --clean $(if $(SNAPSHOT),--snapshot,--release-notes bin/notes.md)

# The server is a module of its own, which pins its version.
nats-server: go
	@echo "==> build $@"
	@go -C tools/natsserver build -o ../../bin/engines/ github.com/nats-io/nats-server/v2

fmt: bin/tools/gofumpt
	@bin/tools/gofumpt -l -w .

api: go
	@go test ./api -count 1 -v -run TestAPIIsRecorded -update
	$(if $(RELEASED),@go test ./api -count 1 -run TestChangelogListsChangesOfTheAPI -release)

# The developer tools are pinned in tools/go.mod. A goal builds those that it uses.
checks: bin/tools/checks bin/tools/gotestsum
test: bin/tools/gofumpt
lint tools platforms: bin/tools/staticcheck
lint: bin/tools/typecheck bin/tools/actionlint
vulnerabilities: bin/tools/govulncheck

programs := $(addprefix bin/tools/,checks typecheck gotestsum gofumpt staticcheck govulncheck benchstat actionlint goreleaser cyclonedx-gomod)
.PHONY: $(programs)
bin/tools/%: module := tools
bin/tools/checks:      tool := ./checks
bin/tools/typecheck:   tool := ./typecheck
bin/tools/gotestsum:   tool := gotest.tools/gotestsum
bin/tools/gofumpt:     tool := mvdan.cc/gofumpt
bin/tools/staticcheck: tool := honnef.co/go/tools/cmd/staticcheck
bin/tools/govulncheck: tool := golang.org/x/vuln/cmd/govulncheck
bin/tools/benchstat:   tool := golang.org/x/perf/cmd/benchstat
bin/tools/actionlint:  tool := github.com/rhysd/actionlint/cmd/actionlint
# GoReleaser needs some hundred modules, so the tools of a release have a module of their own.
bin/tools/goreleaser bin/tools/cyclonedx-gomod: module := tools/release
bin/tools/goreleaser:  tool := github.com/goreleaser/goreleaser/v2
bin/tools/cyclonedx-gomod: tool := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
$(programs): go
	@echo "==> build $(@F)"
	@go -C $(module) build -o $(CURDIR)/bin/tools/ $(tool)
# A go command before 1.21 cannot fetch a newer toolchain.
go:
	$(if $(go-is-old),$(error fondaco needs Go 1.21 or newer on the PATH: install it from https://go.dev/dl and run make again))

go-is-old = $(shell case "$$(GOTOOLCHAIN=local go version 2>/dev/null)" in \
	("" | *\ go1.[0-9][.\ ]* | *\ go1.1[0-9][.\ ]* | *\ go1.20[.\ ]*) echo yes;; esac)
