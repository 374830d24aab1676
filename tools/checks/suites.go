package main

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// platforms are the systems that every package has to build for, as GOOS/GOARCH.
var platforms = []string{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64",
}

// sandboxes are the systems that the packages below mcp and their tests have to
// compile for. They have neither processes nor sockets.
var sandboxes = []string{"js/wasm", "wasip1/wasm"}

// durations are the lengths of the steps that have no end of their own.
type durations struct {
	fuzz, fuzzLong, soak, kill time.Duration
	repeat                     int // of the conformance suite
}

func steps(suite string, d durations) []step {
	switch suite {
	case "test":
		return append(testSteps(), coverageStep(""))
	case "coverage":
		return []step{packageStep(), coverageStep("-write bin/spec-coverage.md")}
	case "race":
		return []step{raceStep("tests under the race detector", concurrent)}
	case "race-rest":
		return otherRaceSteps()
	case "hosts":
		return []step{hostsStep()}
	case "flaky":
		return []step{flakyStep()}
	case "tools":
		return toolSteps()
	case "lint":
		return lintSteps()
	case "conformance":
		return conformanceSteps(d)
	case "platforms":
		return platformSteps()
	case "vulnerabilities":
		return []step{vulnerabilityStep()}
	case "mutants":
		return mutantSteps()
	case "foreign":
		return foreignSteps()
	case "peers":
		return append([]step{benchPeerStep(), mountedStep(), peerStep(), npmStep(), acmeStep(), deployStep(), telemetryStep()}, adapterSteps()...)
	case "load":
		return []step{loadStep()}
	case "fuzz":
		return fuzzSteps(d)
	case "hostile":
		return []step{proofStep("hostile", "-full"), hostStep(), questionsStep(), isolationStep(), keptBytesStep()}
	case "console":
		return consoleSteps()
	case "replicas":
		return []step{replicasStep(d), hostReplicasStep()}
	case "performance":
		return []step{performanceStep()}
	case "release-check":
		return releaseSteps()
	case "soak":
		return []step{proofStep("soak", "-soaktime "+d.soak.String()), modelStep()}
	}
	panic(fmt.Sprintf("suite %q: want test, coverage, race, race-rest, hosts, flaky, tools, lint, conformance, platforms, vulnerabilities, mutants, foreign, peers, load, fuzz, hostile, console, replicas, soak, release-check or performance", suite))
}

// testSteps are what a contributor runs before each change. CONTRIBUTING.md says how long they
// take; a check that takes long belongs to a suite of its own. The steps that fail fastest come first.
func testSteps() []step {
	return []step{
		{name: "format (gofumpt)", command: words("bin/tools/gofumpt -l ."), outcome: silent},
		{name: "requirements (go mod tidy)", command: words("go mod tidy -diff")},
		packageStep(),
	}
}

// toolSteps check the modules of the tools and of the benchmarks, which are written for Linux.
func toolSteps() []step {
	tests := step{name: "tests of the benchmarks", command: words("go -C bench test -json ./..."), outcome: testJSON}
	if runtime.GOOS != "linux" {
		tests.missing = "the benchmarks are written for Linux"
	}
	return []step{
		{name: "tests of the tools", dir: "tools", command: words("go test"), packages: words("./..."), outcome: testJSON},
		{name: "vet the benchmarks", env: []string{"GOOS=linux"}, command: words("go -C bench vet ./...")},
		tests,
		{
			name: "staticcheck the benchmarks", env: []string{"GOOS=linux"}, dir: "bench",
			command: words("../bin/tools/staticcheck ./..."),
		},
	}
}

// lintSteps run vet and staticcheck for Linux, and check the types for the other systems and the workflows.
func lintSteps() []step {
	list := []step{
		// What actionlint finds must not depend on the other linters that a machine has.
		{name: "workflows (actionlint)", command: words("bin/tools/actionlint -shellcheck= -pyflakes=")},
		{name: "vet", command: words("go vet -tags " + tags + " ./...")},
		staticcheckStep("linux"),
	}
	for _, goos := range []string{"darwin", "windows"} {
		list = append(list, step{
			name:    "types for " + goos,
			command: words("bin/tools/typecheck -goos " + goos + " -tags " + tags + " ./..."),
		})
	}
	return list
}

// tags are the build tags of tests that make test leaves out.
const tags = "load,hosts,hostile,npm,replicas,release"

func staticcheckStep(goos string) step {
	return step{
		name: "staticcheck for " + goos, env: []string{"GOOS=" + goos},
		command: words("bin/tools/staticcheck -tags " + tags + " ./..."),
	}
}

// conformanceSteps run the official suite, whose results are final: nothing of it is repeated.
func conformanceSteps(d durations) []step {
	return []step{
		{name: "build the conformance programs", command: words("go build -o bin/conformance/ ./conformance/...")},
		{name: "conformance", command: words(fmt.Sprintf("bin/conformance/conformance -repeat %d", d.repeat)), outcome: counted},
	}
}

// platformSteps vet and build everything for each platform, and the packages of the SDK
// for each sandbox. Windows is the system whose files differ most from those of Linux.
func platformSteps() []step {
	list := []step{staticcheckStep("windows")}
	for _, p := range platforms {
		list = append(list,
			step{name: "vet for " + p, env: target(p), command: words("go vet -tags " + tags + " ./...")},
			step{name: "build for " + p, env: target(p), command: words("go build ./...")},
		)
	}
	for _, p := range sandboxes {
		list = append(list,
			step{name: "vet mcp for " + p, env: target(p), command: words("go vet ./mcp/...")},
			step{name: "build mcp for " + p, env: target(p), command: words("go build ./mcp/...")},
		)
	}
	return list
}

// target returns the environment in which the go command builds for GOOS/GOARCH.
func target(platform string) []string {
	goos, goarch, _ := strings.Cut(platform, "/")
	return []string{"GOOS=" + goos, "GOARCH=" + goarch}
}

// packageStep tests each package once. make lint does what go test would vet, and make race
// repeats the tests of some packages under the race detector, which takes three times the CPU time.
func packageStep() step { return testStep("tests", words("./...")) }

// concurrent are the packages whose goroutines share most memory, the slowest first.
var concurrent = []string{
	"./mcp/mcpserver", "./mcp/internal/integration", "./mcp/mcptest", "./host/gateway/...", "./mcp/mcpclient",
	"./mcp/internal/exchange", "./mcp/internal/limit", "./mcp/internal/peer", "./mcp/internal/quota", "./mcp/internal/replay",
	"./mcp/internal/stdio", "./mcp/internal/streamhttp",
}

// otherRaceSteps test the other packages under the race detector.
func otherRaceSteps() []step {
	others, err := packagesExcept(concurrent)
	if err != nil {
		return []step{{name: "list packages", command: words("go list ./...")}}
	}
	return []step{raceStep("other tests under the race detector", others)}
}

// packagesExcept lists the packages of the module without those of the list.
func packagesExcept(list []string) ([]string, error) {
	all, err := listPackages("./...")
	if err != nil {
		return nil, err
	}
	excepted, err := listPackages(list...)
	return slices.DeleteFunc(all, func(p string) bool { return slices.Contains(excepted, p) }), err
}

func listPackages(patterns ...string) ([]string, error) {
	output, err := exec.Command("go", append([]string{"list"}, patterns...)...).Output()
	return words(string(output)), err
}

// testStep tests packages, without the tests of the quarantine. A package has half an hour: on a busy machine those of
// the race detector take more than the ten minutes of go test.
func testStep(name string, packages []string, flags ...string) step {
	command := slices.Concat(words("go test -vet=off -timeout=30m"), flags, skipFlags(quarantine))
	return step{name: name, command: command, packages: packages, outcome: testJSON}
}

func raceStep(name string, packages []string, flags ...string) step {
	s := testStep(name, packages, append(flags, "-race")...)
	s.env = []string{"CGO_ENABLED=1"}
	if err := findCompiler(); err != nil {
		s.missing = err.Error()
	}
	return s
}

// processes are the packages whose tests start processes and open sockets, the slowest first.
var processes = []string{
	"./host/cli", "./internal/fault", "./mcp/internal/integration", "./mcp/mcptest", "./mcp/store/...", "./mcp/mcpserver", "./mcp/mcpclient", "./host/gateway",
	"./examples/...", "./compatibility", "./host/audit", "./host/state", "./mcp/mcpauth", "./mcp/internal/spawn", "./mcp/internal/stdio",
}

// flakyStep runs tests that depend on other processes many times, with one processor and with two, and
// with more of them at a time than there are processors. What fails only sometimes fails here.
func flakyStep() step {
	return raceStep("tests with processes, many times", processes, words("-count=5 -cpu=1,2 -p=6 -timeout=2h")...)
}

// hostsStep runs the tests of deviating peers behind many processes of a host, alone: these take
// so much CPU time that other tests would exceed their time limits.
func hostsStep() step {
	return testStep("deviating peers behind hosts", words("./compatibility"), words("-tags hosts -run BehindAHost$")...)
}

// findCompiler returns an error unless there is a C compiler with its headers.
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

// coverageStep compares the requirements of the protocol with what the tests before it
// claimed. With -write and a name it writes the list of requirements and tests.
func coverageStep(flags string) step {
	s := step{
		name: "each requirement has a test or a reason", claims: true,
		command: words("go run ./internal/claim/coverage " + flags),
	}
	if runtime.GOOS != "linux" {
		s.missing = "only Linux builds every test"
	}
	return s
}

// foreignSteps test the project with one client and one server of each foreign SDK in both eras, in
// their newest versions. peerStep runs the others.
func foreignSteps() []step {
	test := testStep("foreign clients and servers", words("."), "-parallel=4",
		"-run=^(TestForeignClientsUseEveryFeatureOfAServer|TestVersionsOfForeignClientsUseEveryFeatureOfAServer|"+
			"TestOurClientUsesEveryFeatureOfATypeScriptServer|TestOurClientUsesEveryFeatureOfVersionsOfForeignServers)$/"+
			"^(2_|1_|stdio_2|http_2|go-sdk_1.8|mcp-go_1.2|TypeScript_SDK_1.20)")
	test.dir = "interop"
	return []step{{name: "install the foreign peers", command: words("interop/install")}, test}
}

// peerStep tests the project against other implementations. interop/run installs them
// and passes its arguments to go test. Each test is skipped where Node is missing.
func peerStep() step {
	return step{name: "foreign peers", command: words("interop/run -json"), outcome: testJSON}
}

// acmeStep has the host get its certificate from an authority, which is a module of its own.
func acmeStep() step {
	return step{name: "certificates by ACME", command: words("go -C interop/acme test -vet=off -json ./..."), outcome: testJSON}
}

// deployStep starts what the Compose files and the Helm chart start. It is a module of its own, which builds helm.
func deployStep() step {
	return step{name: "Compose files and Helm chart", command: words("go -C interop/deploy test -vet=off -json -timeout 20m ./..."), outcome: testJSON}
}

// telemetryStep has the receiver of a collector and Prometheus take the telemetry of a host. It is a module of its own, which
// builds the receiver.
func telemetryStep() step {
	return step{name: "collector and Prometheus", command: words("go -C interop/telemetry test -vet=off -json ./..."), outcome: testJSON}
}

// npmStep installs servers from npm and compares what they list with the recordings by which
// make test replays their versions. It is skipped where npm is missing.
func npmStep() step {
	return step{
		name: "definitions of npm servers", outcome: testJSON,
		command: words("go test -json -tags npm -run ^TestRecordedServersAreReal$ -count 1 -timeout 20m -parallel 2 ./host/definition"),
	}
}

// benchPeerStep checks the programs that measure other SDKs. They are a module of their
// own.
func benchPeerStep() step {
	return step{name: "vet the benchmarks of foreign peers", env: []string{"GOOS=linux"}, command: words("go -C bench/peers vet ./...")}
}

// mountedStep tests the example with dependencies that the project does not have. It is a module
// of its own.
func mountedStep() step {
	return step{name: "the example with a router", command: words("go -C examples/mounted test -json ./..."), outcome: testJSON}
}

// adapterSteps test the adapters for servers of other SDKs, which are modules of their own.
func adapterSteps() []step {
	var list []step
	for _, dir := range []string{"x/fromgosdk", "x/frommcpgo"} {
		list = append(list,
			step{name: "vet " + dir, command: words("go -C " + dir + " vet ./...")},
			step{name: "tests of " + dir, command: words("go -C " + dir + " test -vet=off -json ./..."), outcome: testJSON},
		)
	}
	return list
}

// loadStep runs the tests that measure time: one package at a time, never from the cache.
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

// consoleSteps use the console in a Chromium, which is a module of its own, with the rules of
// accessibility of axe-core.
func consoleSteps() []step {
	return []step{
		{name: "install the rules of accessibility", command: words("npm ci --prefix proof/browser --no-audit --no-fund")},
		{name: "vet the tests in a browser", command: words("go -C proof/browser vet ./...")},
		{name: "the console in a browser", command: words("go -C proof/browser test -vet=off -json -count 1 ./..."), outcome: testJSON},
	}
}

// replicasStep kills and restarts processes that serve the same sessions, with each engine, and
// stops the engines. It is skipped where an engine is missing, and its clients of other SDKs where
// peerStep has not installed them.
func replicasStep(d durations) step {
	return step{
		name: "replicas with engines", outcome: testJSON,
		command: words("go test -json -tags replicas -run ^TestReplicas -count 1 -timeout 24h ./internal/fault -killtime " + d.kill.String()),
	}
}

// hostReplicasStep kills hosts that share an engine, with each engine.
func hostReplicasStep() step {
	return step{
		name: "hosts with engines", outcome: testJSON,
		command: words("go test -json -tags replicas -run ^TestReplicas -count 1 -timeout 10m ./host/cli"),
	}
}

// releaseSteps make the archives of a release of this commit, without publishing them, and check them.
func releaseSteps() []step {
	return []step{
		{name: "archives of a release", command: words("make release SNAPSHOT=1")},
		{
			name: "the archives of a release run, and are the same when they are built elsewhere", outcome: testJSON,
			command: words("go test -json -tags release -count 1 -timeout 90m ./proof/release"),
		},
	}
}

// performanceStep fails if docs/performance.md has figures of more than fifty commits ago.
func performanceStep() step {
	s := step{name: "age of the figures in docs/performance.md", command: words("go -C bench run ./measure age -docs ../docs"), maySkip: true}
	if err := exec.Command("git", "rev-parse", "--git-dir").Run(); err != nil {
		s.missing = "the age is counted in commits, and this directory is no git repository"
	}
	return s
}

// modelStep runs many schedules of clients and faults against replicas. make test runs fewer.
func modelStep() step {
	return step{
		name: "2,000 schedules of replicas", outcome: testJSON,
		command: words("go test -json -run ^TestSchedules$ -count 1 -timeout 20m ./internal/model -schedules 2000"),
	}
}

// hostStep attacks the fondaco program: its files, its clients and its servers are hostile.
func hostStep() step {
	return step{
		name: "attacks on the host", outcome: testJSON,
		command: words("go test -json -tags hostile -run ^TestHost[A-Z] -count 1 -timeout 30m ./proof"),
	}
}

// questionsStep has one owner leave 100,000 questions without an answer, in 2.6 GB of
// memory. It is one step by itself because make test has fewer.
func questionsStep() step {
	return step{
		name: "100,000 unanswered questions", outcome: testJSON,
		command: words("go test -json -run ^TestUnansweredQuestionsOfOneOwnerDelayNoOtherOwner$ -count 1 -parallel 1 ./mcp/mcpserver -unanswered 100000"),
	}
}

// keptBytesStep opens every table in which clients make a server keep bytes as wide as it goes.
// make test opens them less wide.
func keptBytesStep() step {
	return step{
		name: "bytes that clients make a server keep", outcome: testJSON,
		command: words("go test -json -run ^(TestNoTable|TestLargeInitialize) -count 1 ./mcp/mcpserver -wide"),
	}
}

// isolationStep has 10,000 calls of 200 clients in flight over each transport. make test has fewer.
func isolationStep() step {
	return step{
		name: "10,000 calls of 200 clients", outcome: testJSON,
		command: words("go test -json -run ^TestNoClientReceivesMessagesOfAnother$ -count 1 ./mcp/internal/integration -calls 50"),
	}
}

// vulnerabilityStep looks the code that this project calls up in the database of known
// vulnerabilities. Where the database cannot be reached the step is skipped. .ci/run
// permits this skip alone, because it says nothing about the change.
func vulnerabilityStep() step {
	s := step{name: "known vulnerabilities (govulncheck)", command: words("bin/tools/govulncheck ./..."), maySkip: true}
	if err := findDatabase(); err != nil {
		s.missing = err.Error()
	}
	return s
}

// findDatabase returns an error unless the database of vulnerabilities can be reached.
// The address is the one that govulncheck uses.
func findDatabase() error {
	const index = "https://vuln.go.dev/index/db.json"
	web := &http.Client{Timeout: 10 * time.Second}
	resp, err := web.Get(index)
	if err != nil {
		return fmt.Errorf("the database of vulnerabilities cannot be reached: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the database of vulnerabilities cannot be reached: %s says %s", index, resp.Status)
	}
	return nil
}

// fuzzedLonger are the packages below the module whose fuzz targets run for the longer
// time: they search orders of events, which a few seconds do not cover.
var fuzzedLonger = []string{"mcp/internal/replay"}

// fuzzSteps returns one step for each fuzz target of the packages.
func fuzzSteps(d durations) []step {
	listing := words("go test -json -list ^Fuzz ./...")
	output, err := exec.Command(listing[0], listing[1:]...).Output()
	if err != nil {
		return []step{{name: "list fuzz targets", command: listing}}
	}
	var list []step
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil && strings.HasPrefix(e.Output, "Fuzz") {
			list = append(list, fuzzStep(e.Package, strings.TrimSpace(e.Output), d))
		}
	}
	return list
}

func fuzzStep(pkg, target string, d durations) step {
	length := d.fuzz
	if slices.ContainsFunc(fuzzedLonger, func(p string) bool { return strings.HasSuffix(pkg, "/"+p) }) {
		length = d.fuzzLong
	}
	return step{
		name:    fmt.Sprintf("%s in %s", target, pkg),
		command: words(fmt.Sprintf("go test -run ^$ -fuzz ^%s$ -fuzztime %s -fuzzminimizetime 1x %s", target, length, pkg)),
	}
}

func words(command string) []string { return strings.Fields(command) }
