package main

import (
	"bytes"
	"encoding/json/v2"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A mutant is a change that breaks one behaviour. The tests of the package that claim the
// requirement have to fail on it.
type mutant struct {
	requirement string
	title       string // what is broken
	file        string
	pkg         string // whose tests are run
	old, new    string // text of the file
}

// readMutants reads a list of mutants. Each has a line with the requirement and a title,
// a line with the file, one with the package, then the lines of the old text after - and
// those of the new text after +. Lines that begin with # are comments.
func readMutants(name string) ([]mutant, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var list []mutant
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if word == "mutant" {
			requirement, title, _ := strings.Cut(rest, " ")
			list = append(list, mutant{requirement: requirement, title: title})
			continue
		}
		if len(list) == 0 || !list[len(list)-1].set(line, word, rest) {
			return nil, fmt.Errorf("%s:%d: want mutant, file, test, - or +", name, i+1)
		}
	}
	return list, nil
}

func (m *mutant) set(line, word, rest string) bool {
	switch {
	case line[0] == '-':
		m.old += line[1:] + "\n"
	case line[0] == '+':
		m.new += line[1:] + "\n"
	case word == "file":
		m.file = rest
	case word == "test":
		m.pkg = rest
	default:
		return false
	}
	return true
}

// mutantSteps runs the tests of all listed packages once with the code as it is, to learn
// what they claim, and then the claiming tests once for each mutant.
func mutantSteps() []step {
	list, err := readMutants("internal/claim/mutants.txt")
	if err != nil {
		panic(err)
	}
	var packages []string
	for _, m := range list {
		packages = append(packages, m.pkg)
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	return []step{
		{
			name: "tests of the code without mutants", outcome: testJSON,
			command: append(words("go test -vet=off -json"), packages...),
		},
		{name: fmt.Sprintf("%d mutants", len(list)), outcome: caught, mutants: list},
	}
}

// concurrentMutants is how many mutants run at a time: compiling and waiting take turns.
const concurrentMutants = 2

// runMutants counts as many checks as there are mutants. One passes when a test that claims
// its requirement fails.
func (s step) runMutants(t *tally) {
	waiting, results := make(chan mutant), make(chan mutantResult)
	var workers sync.WaitGroup
	for range concurrentMutants {
		workers.Go(func() {
			cache, err := copyBuildCache()
			if err == nil {
				defer cache.remove()
			}
			for m := range waiting {
				if err != nil {
					results <- mutantResult{mutant: m, fault: err.Error()}
					continue
				}
				results <- m.run(t.claiming(m.requirement, m.pkg), cache)
			}
		})
	}
	go func() {
		for _, m := range s.mutants {
			waiting <- m
		}
		close(waiting)
		workers.Wait()
		close(results)
	}()
	for r := range results {
		fmt.Fprintf(t.out, "    %s %s %.1fs\n", r.requirement, r.title, r.took.Seconds())
		t.spend(r.state)
		if r.fault == "" {
			t.passed++
		} else {
			t.fail(problem{step: s.name, subject: r.requirement + " " + r.title, output: r.fault})
		}
	}
}

// A mutantResult is the outcome of the tests of a mutant.
type mutantResult struct {
	mutant
	fault string // empty if a test failed, as it has to
	took  time.Duration
	state *os.ProcessState // of the go command; nil if it was not started
}

// run runs the tests that claim the requirement of the mutant.
func (m mutant) run(tests []string, cache *buildCache) (r mutantResult) {
	r.mutant = m
	if len(tests) == 0 {
		r.fault = fmt.Sprintf("no test of %s claims %s", m.pkg, m.requirement)
		return r
	}
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		r.fault = err.Error()
		return r
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(dir)
	if err != nil {
		r.fault = err.Error()
		return r
	}
	cmd := exec.Command("go", "test", "-vet=off", "-json", "-overlay", overlay, "-run", "^("+strings.Join(tests, "|")+")$", "-timeout", "60s", m.pkg)
	cmd.Env = append(os.Environ(), "GOCACHE="+cache.dir)
	output, err := cmd.Output()
	r.state = cmd.ProcessState
	switch {
	case err == nil:
		r.fault = "survived " + strings.Join(tests, ", ")
	case !brokeTest(output):
		r.fault = fmt.Sprintf("%s: %v\n%s", m.file, err, output)
	}
	if err := cache.trim(); err != nil && r.fault == "" {
		r.fault = err.Error()
	}
	return r
}

// claiming returns the tests of a package that claim a requirement.
func (t *tally) claiming(requirement, pkg string) (tests []string) {
	for _, c := range t.claims {
		fields := strings.Split(c, "\t")
		name, _, _ := strings.Cut(fields[2], "/")
		if fields[0] == requirement && strings.HasSuffix(fields[1], strings.TrimPrefix(pkg, ".")) {
			tests = append(tests, name)
		}
	}
	slices.Sort(tests)
	return slices.Compact(tests)
}

// overlay writes the changed file and the JSON file that makes the go command read it in
// place of the original. It returns the name of the JSON file.
func (m *mutant) overlay(dir string) (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.old); n != 1 || m.old == "" {
		return "", fmt.Errorf("%s: found the old text %d times, want it once", m.file, n)
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	changed, description := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	return description, os.WriteFile(description, replace, 0o600)
}

// brokeTest reports whether a go test -json stream has a failure that is not a failure of
// the build.
func brokeTest(stream []byte) bool {
	broke := false
	for line := range bytes.Lines(stream) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		if e.Action == "build-fail" {
			return false
		}
		broke = broke || e.Action == "fail"
	}
	return broke
}
