package compared_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var passed = regexp.MustCompile(`(?m)^--- PASS: (\w+)`)

// useTests runs tests of a server and returns the names of those that pass.
func useTests(t *testing.T, file string) (names []string) {
	sdk := filepath.Base(filepath.Dir(file))
	out, err := exec.CommandContext(t.Context(), "go", "test", "-v", "./"+sdk+"/tests").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, m := range passed.FindAllStringSubmatch(string(out), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return names
}

var wantTests = []string{"TestGreet", "TestRemoveAsksTheUser"}
