package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The workflow runs every topic of .ci/nightly, each in one of its jobs.
func TestWorkflowRunsEveryNightlyTopic(t *testing.T) {
	want := listIn(t, ".ci/nightly", `(?m)^topics=\(([a-z].*)\)$`)
	groups := regexp.MustCompile(`(?m)^ {10}- (.+)$`).FindAllStringSubmatch(projectFile(t, ".github/workflows/nightly.yml"), -1)
	var got []string
	for _, group := range groups {
		got = append(got, words(group[1])...)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("topics of .github/workflows/nightly.yml: got %v, want those of .ci/nightly: %v", got, want)
	}
}

// A tag of an action can be moved to other code by those who can write to its repository, a commit cannot.
func TestActionsArePinnedByCommit(t *testing.T) {
	names, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(names) == 0 {
		t.Fatalf("got %v, %v, want workflows", names, err)
	}
	pinned := regexp.MustCompile(`^([\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./\.github/workflows/\w+\.yml)$`)
	versions := map[string]string{}
	for _, name := range names {
		for _, m := range regexp.MustCompile(`(?m)\buses: (.*)$`).FindAllStringSubmatch(projectFile(t, name[len("../../"):]), -1) {
			action, version, _ := strings.Cut(m[1], "@")
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s: uses: %s: want the commit, and its version in a comment", name, m[1])
			}
			if other, known := versions[action]; known && other != version {
				t.Errorf("%s: uses: %s: want %s as elsewhere", name, m[1], other)
			}
			versions[action] = version
		}
	}
}

func TestDependabotKnowsEveryModule(t *testing.T) {
	var want []string
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "node_modules", "testdata"}, entry.Name()):
			return fs.SkipDir
		case entry.Name() == "go.mod":
			want = append(want, path.Join("/", path.Dir(name)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^ {6}- (/.*)$`).FindAllStringSubmatch(projectFile(t, ".github/dependabot.yml"), -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("directories of .github/dependabot.yml: got %v, want those with a go.mod: %v", got, want)
	}
}

// projectFile returns a file of the project.
func projectFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
