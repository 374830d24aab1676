// Package api_test holds the exported API of the SDK in a text file for each
// public package, so that no change to it goes unnoticed. "make api" writes the
// files anew. CONTRIBUTING.md tells what a change needs.
package api_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write the record of the API anew")

func TestAPIIsRecorded(t *testing.T) {
	for name, pkg := range publicPackages(t) {
		t.Run(name, func(t *testing.T) {
			got := describe(pkg)
			if *update {
				write(t, name, got)
				return
			}
			want, err := os.ReadFile(name + ".txt")
			if err != nil {
				t.Fatalf("%v: a new public package: run make api and add a line to CHANGELOG.md under Unreleased", err)
			}
			if diff := difference(string(want), got); diff != "" {
				t.Errorf("the exported API differs from api/%s.txt: run make api and add a line to CHANGELOG.md under Unreleased.\n%s", name, diff)
			}
		})
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if old, err := os.ReadFile(name + ".txt"); err == nil && string(old) == text {
		return
	}
	if err := os.WriteFile(name+".txt", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("wrote api/%s.txt; its line in CHANGELOG.md under Unreleased ends in %s", name, mark(name, text))
}

func TestRecordedPackagesExist(t *testing.T) {
	packages := publicPackages(t)
	for name := range records(t) {
		if packages[name] == nil {
			t.Errorf("api/%s.txt describes a package that is gone: remove the file and add a line to CHANGELOG.md under Unreleased", name)
		}
	}
}

// TestChangelogTellsOfTheAPI ties each record to the changelog: the first mark of
// a package in CHANGELOG.md, which is the newest, has to carry the digest of the
// record as it is now.
func TestChangelogTellsOfTheAPI(t *testing.T) {
	changelog, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := make(map[string]string)
	for _, m := range slices.Backward(anyMark.FindAllStringSubmatch(string(changelog), -1)) {
		newest[m[1]] = m[0]
	}
	for name, text := range records(t) {
		if got, want := newest[name], mark(name, text); got != want {
			t.Errorf("CHANGELOG.md has %q as the newest mark of %s, want %q: add a line under Unreleased that says what changed in the API and ends in the wanted mark",
				got, name, want)
		}
	}
}

var anyMark = regexp.MustCompile(`\(api ([a-z/-]+) [0-9a-f]{8}\)`)

// mark is what ends the changelog's line about a state of a package's API.
func mark(name, text string) string {
	digest := sha256.Sum256([]byte(text))
	return fmt.Sprintf("(api %s %x)", name, digest[:4])
}

// records returns the recorded texts by name. There is always at least one.
func records(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no record of the API (%v): run make api", err)
	}
	texts := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file[:len(file)-len(".txt")]] = string(text)
	}
	return texts
}
