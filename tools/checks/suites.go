package main

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// platforms are those that the project has to build on, as GOOS/GOARCH.
var platforms = []string{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64",
}

// lengths are how long what has no end of its own goes on.
type lengths struct{ fuzz, soak time.Duration }

func steps(suite string, long lengths) []step {
	switch suite {
	case "test":
		return append(testSteps(), coverageStep("-write=false"), benchPeerStep(), peerStep(), vulnerabilityStep())
	case "coverage":
		return append(raceSteps(), coverageStep("-write"))
	case "mutants":
		return mutantSteps()
	case "peers":
		return []step{benchPeerStep(), peerStep()}
	case "load":
		return []step{loadStep()}
	case "fuzz":
		return fuzzSteps(long.fuzz)
	case "hostile":
		return []step{proofStep("hostile", "-full")}
	case "soak":
		return []step{proofStep("soak", "-soaktime "+long.soak.String())}
	}
	panic(fmt.Sprintf("suite %q: want test, coverage, mutants, peers, load, fuzz, hostile or soak", suite))
}

// testSteps puts what fails fastest first.
func testSteps() []step {
	list := []step{
		{name: "format (gofumpt)", command: words("bin/tools/gofumpt -l ."), outcome: silent},
		{name: "requirements (go mod tidy)", command: words("go mod tidy -diff")},
		{name: "tests of the tools", command: words("go -C tools test -json ./..."), outcome: testJSON},
	}
	list = append(list, benchSteps()...)
	for _, platform := range platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		env := []string{"GOOS=" + goos, "GOARCH=" + goarch}
		list = append(list,
			step{name: "vet for " + platform, env: env, command: words("go vet -tags load ./...")},
			step{name: "build for " + platform, env: env, command: words("go build ./...")},
		)
	}
	// The two systems between which files differ most.
	for _, goos := range []string{"linux", "windows"} {
		env := []string{"GOOS=" + goos}
		list = append(list, step{
			name: "staticcheck for " + goos, env: env,
			command: words("bin/tools/staticcheck -tags load ./..."),
		})
	}
	return append(list, raceSteps()...)
}

// benchSteps look at the module that measures. It is written for Linux, and vetted for
// it everywhere.
func benchSteps() []step {
	linux := []string{"GOOS=linux"}
	tests := step{name: "tests of the benchmarks", command: words("go -C bench test -json ./..."), outcome: testJSON}
	if runtime.GOOS != "linux" {
		tests.missing = "the benchmarks are written for Linux"
	}
	return []step{
		{name: "vet the benchmarks", env: linux, command: words("go -C bench vet ./...")},
		{name: "staticcheck the benchmarks", env: linux, dir: "bench", command: words("../bin/tools/staticcheck ./...")},
		tests,
	}
}

// raceSteps run the tests under the race detector. Where it cannot be built the
// tests run without it, and its absence counts as one check skipped.
func raceSteps() []step {
	if err := findCompiler(); err != nil {
		return []step{
			{name: "race detector", missing: err.Error()},
			{name: "tests WITHOUT the race detector", command: words("go test -json ./..."), outcome: testJSON},
		}
	}
	return []step{
		{
			name: "tests under the race detector", env: []string{"CGO_ENABLED=1"},
			command: words("go test -race -json ./..."), outcome: testJSON,
		},
		{
			name:    "the crowd at full size", // too large for the race detector
			command: words("go test -run ^TestNobody -json ./mcp/mcptest"), outcome: testJSON,
		},
	}
}

// findCompiler reports whether there is a C compiler that has its headers.
func findCompiler() error {
	output, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		return err
	}
	cc := words(string(output))
	output, err = exec.Command(cc[0], append(cc[1:], words("-E -x c -include stdlib.h /dev/null")...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("the race detector needs a C compiler and its headers (gcc and libc6-dev, or clang): %w\n%s", err, output)
	}
	return nil
}

// coverageStep holds the requirements of the protocol against what the tests
// before it claimed. What foreign peers show after it is not counted, so that the
// page is the same without Node.
func coverageStep(flag string) step {
	s := step{
		name: "each requirement has a test or a reason", claims: true,
		command: words("go run ./internal/claim/coverage " + flag + " docs/spec-coverage.md"),
	}
	if runtime.GOOS != "linux" {
		s.missing = "the page is made on Linux, where every test is built"
	}
	return s
}

// peerStep proves the project against foreign peers. interop/run hands its
// arguments to go test, and installs the peers before. Where Node is missing each
// of its tests is skipped.
func peerStep() step {
	return step{name: "foreign peers", command: words("interop/run -json"), outcome: testJSON}
}

// benchPeerStep sees that the servers of other SDKs, which are a module of their own,
// can still be measured.
func benchPeerStep() step {
	return step{name: "vet the benchmarks of foreign peers", env: []string{"GOOS=linux"}, command: words("go -C bench/peers vet ./...")}
}

// loadStep runs what measures time: one package at a time, never from the cache.
func loadStep() step {
	return step{
		name: "load", outcome: testJSON,
		command: words("go test -json -tags load -run ^TestLoad -count 1 -p 1 ./..."),
	}
}

// proofStep runs one test of package proof in full. It ends by itself.
func proofStep(name, flags string) step {
	return step{
		name: name, outcome: testJSON,
		command: words("go test -json -run ^Test" + strings.ToUpper(name[:1]) + name[1:] + "$ -count 1 -timeout 24h ./proof " + flags),
	}
}

// vulnerabilityStep asks the database of known vulnerabilities about the code that
// this project calls. Where the database cannot be had the step is skipped, and
// that skip alone is permitted in .ci/run: it says nothing about the change.
func vulnerabilityStep() step {
	s := step{name: "known vulnerabilities (govulncheck)", command: words("bin/tools/govulncheck ./..."), pardoned: true}
	if err := findDatabase(); err != nil {
		s.missing = err.Error()
	}
	return s
}

// findDatabase reports whether the database of vulnerabilities can be had. Its
// address is that of govulncheck.
func findDatabase() error {
	const index = "https://vuln.go.dev/index/db.json"
	web := &http.Client{Timeout: 10 * time.Second}
	resp, err := web.Get(index)
	if err != nil {
		return fmt.Errorf("the database of vulnerabilities cannot be had: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the database of vulnerabilities cannot be had: %s says %s", index, resp.Status)
	}
	return nil
}

// fuzzSteps returns one step for each fuzz target that the packages list.
func fuzzSteps(fuzzTime time.Duration) []step {
	listing := words("go test -json -list ^Fuzz ./...")
	output, err := exec.Command(listing[0], listing[1:]...).Output()
	if err != nil {
		return []step{{name: "list fuzz targets", command: listing}}
	}
	var list []step
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || !strings.HasPrefix(e.Output, "Fuzz") {
			continue
		}
		target := strings.TrimSpace(e.Output)
		list = append(list, step{
			name:    fmt.Sprintf("%s in %s", target, e.Package),
			command: words(fmt.Sprintf("go test -run ^$ -fuzz ^%s$ -fuzztime %s -fuzzminimizetime 1x %s", target, fuzzTime, e.Package)),
		})
	}
	return list
}

func words(command string) []string { return strings.Fields(command) }
