package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMutantsAreRead(t *testing.T) {
	list, err := readMutants(write(t, "mutants.txt", `# a remark
mutant R-1 one is two
file a/b.go
test ./a
-	return 1
+	return 2

mutant R-2 nothing is left
file a/c.go
test ./a
-	f()
-	g()
`))
	want := []mutant{
		{"R-1", "one is two", "a/b.go", "./a", "\treturn 1\n", "\treturn 2\n"},
		{"R-2", "nothing is left", "a/c.go", "./a", "\tf()\n\tg()\n", ""},
	}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("got %+v, %v, want %+v", list, err, want)
	}
	for _, bad := range []string{"file a.go\n", "mutant R-1 x\nfiel a.go\n"} {
		if _, err := readMutants(write(t, "mutants.txt", bad)); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

func TestMutantHasToFindItsTextOnce(t *testing.T) {
	file := write(t, "a.go", "package a\n\tx\n\ty\n\tx\n")
	for old, fault := range map[string]string{"\ty\n": "", "\tx\n": "2 times", "\tz\n": "0 times", "": "times"} {
		dir := t.TempDir()
		_, err := (&mutant{file: file, old: old, new: "\tz\n"}).overlay(dir)
		if (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%q: got %v, want %q", old, err, fault)
		}
		if text, _ := os.ReadFile(filepath.Join(dir, "a.go")); fault == "" && string(text) != "package a\n\tx\n\tz\n\tx\n" {
			t.Errorf("got %q", text)
		}
	}
}

func TestOnlyFailuresOfTestsCatchAMutant(t *testing.T) {
	for stream, want := range map[string]bool{
		`{"Action":"pass","Package":"p"}`: false,
		`{"Action":"fail","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p"}`: true,
		`{"Action":"build-fail","ImportPath":"p"}` + "\n" + `{"Action":"fail","Package":"p"}`:       false,
	} {
		if got := brokeTest([]byte(stream)); got != want {
			t.Errorf("%s: got %v, want %v", stream, got, want)
		}
	}
}

func TestClaimingTestsOfAPackage(t *testing.T) {
	total := tally{claims: []string{
		"R-1\texample.com/m/a\tTestB/sub", "R-1\texample.com/m/a\tTestA", "R-1\texample.com/m/a\tTestB",
		"R-2\texample.com/m/a\tTestC", "R-1\texample.com/m/b\tTestD",
	}}
	if got, want := total.claiming("R-1", "./a"), []string{"TestA", "TestB"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A failure means that the code which a mutant breaks has changed.
func TestEveryMutantFindsItsText(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	list, err := readMutants("internal/claim/mutants.txt")
	if err != nil || len(list) < 40 {
		t.Fatalf("got %d mutants, %v, want 40 at least", len(list), err)
	}
	for _, m := range list {
		if _, err := m.overlay(t.TempDir()); err != nil {
			t.Errorf("%s %s: %v", m.requirement, m.title, err)
		}
	}
}

// A failure means that no test of the package could notice the mutant.
func TestEveryMutantHasATestInItsPackage(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	list, err := readMutants("internal/claim/mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		tests, _ := filepath.Glob(filepath.Join(m.pkg, "*_test.go"))
		if !slices.ContainsFunc(tests, func(name string) bool {
			text, err := os.ReadFile(name)
			return err == nil && strings.Contains(string(text), strconv.Quote(m.requirement))
		}) {
			t.Errorf("%s %s: no test of %s claims the requirement", m.requirement, m.title, m.pkg)
		}
	}
}

func TestBuildCacheKeepsWhatWasCopiedAndNothingElse(t *testing.T) {
	original := filepath.Join(t.TempDir(), "go-build")
	t.Setenv("GOCACHE", original)
	for _, dir := range []string{"00", "fuzz"} {
		if err := os.MkdirAll(filepath.Join(original, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(original, dir, "kept"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := copyBuildCache()
	if err != nil {
		t.Fatal(err)
	}
	defer c.remove()
	if err := os.WriteFile(filepath.Join(c.dir, "00", "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.trim(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"00/kept": true, "00/new": false, "fuzz/kept": false} {
		_, err := os.Stat(filepath.Join(c.dir, filepath.FromSlash(name)))
		if got := err == nil; got != want {
			t.Errorf("%s: got there = %v, want %v", name, got, want)
		}
	}
	c.remove()
	if _, err := os.Stat(filepath.Join(original, "00", "kept")); err != nil {
		t.Errorf("the original was changed: %v", err)
	}
}
