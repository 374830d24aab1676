// Package api_test holds the exported API of the SDK in a text file for each
// public package, so that no change to it goes unnoticed. "make api" writes the
// files anew. CONTRIBUTING.md tells what a change needs.
package api_test

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	update  = flag.Bool("update", false, "write the record of the API anew")
	release = flag.Bool("release", false, "write which API is released")
)

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
				t.Fatalf("%v: a new public package: run make api, and add a line to the first section of CHANGELOG.md", err)
			}
			if diff := difference(string(want), got); diff != "" {
				t.Errorf("the exported API differs from api/%s.txt: run make api, and add a line to the first section of CHANGELOG.md.\n%s", name, diff)
			}
		})
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name+".txt", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("wrote api/%s.txt, whose mark for CHANGELOG.md is %s", name, mark(name, text))
}

func TestRecordedPackagesExist(t *testing.T) {
	packages := publicPackages(t)
	for name := range records(t) {
		if packages[name] == nil {
			t.Errorf("api/%s.txt describes a package that is gone: remove the file and add a line to CHANGELOG.md under Unreleased", name)
		}
	}
}

// released has the mark of each package at the last release. Before the first one there is no such file: the section
// of the first release describes all of the API.
const released = "released"

// TestChangelogListsChangesOfTheAPI ties each record to the changelog: the newest section that marks a package
// has to mark it with the digest of the record as it is now, unless that is the released one.
func TestChangelogListsChangesOfTheAPI(t *testing.T) {
	if *release {
		writeReleased(t)
		return
	}
	known, err := os.ReadFile(released)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	changelog, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range unmentioned(string(known), string(changelog), records(t)) {
		t.Errorf("CHANGELOG.md does not tell of the API as it is now: add a line to its first section that says what changed and ends in %s", want)
	}
}

func writeReleased(t *testing.T) {
	t.Helper()
	var marks []string
	for name, text := range records(t) {
		marks = append(marks, mark(name, text)+"\n")
	}
	slices.Sort(marks)
	if err := os.WriteFile(released, []byte(strings.Join(marks, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unmentioned returns the marks of records that are neither those of the last release nor in the changelog.
func unmentioned(known, changelog string, records map[string]string) (missing []string) {
	for name, text := range records {
		want := mark(name, text)
		if !strings.Contains(known, want+"\n") && !slices.Contains(newestMarks(changelog, name), want) {
			missing = append(missing, want)
		}
	}
	slices.Sort(missing)
	return missing
}

func TestOnlyChangesSinceTheReleaseAreMentioned(t *testing.T) {
	records := map[string]string{"same": "a", "changed": "b", "told": "c"}
	known := mark("same", "a") + "\n" + mark("changed", "old") + "\n" + mark("told", "old") + "\n"
	changelog := "\n## [Unreleased]\n- it has more " + mark("told", "c") + "\n"
	if got, want := unmentioned(known, changelog, records), []string{mark("changed", "b")}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// newestMarks returns the marks of a package in the first section that has any.
func newestMarks(changelog, name string) []string {
	marks := regexp.MustCompile(`\(api ` + regexp.QuoteMeta(name) + ` [0-9a-f]{8}\)`)
	for _, section := range strings.Split(changelog, "\n## ") {
		if found := marks.FindAllString(section, -1); found != nil {
			return found
		}
	}
	return nil
}

func TestMarksOfTheNewestSectionCount(t *testing.T) {
	changelog := "\n## [Unreleased]\n- a (api a 00000001)\n- more (api a 00000002)\n## [0.1.0]\n- old (api a 00000000)\n- b (api b 00000003)\n"
	for name, want := range map[string][]string{
		"a": {"(api a 00000001)", "(api a 00000002)"},
		"b": {"(api b 00000003)"},
		"c": nil,
	} {
		if got := newestMarks(changelog, name); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

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
