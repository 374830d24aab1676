package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestOutcomeIsStricterThanTheSuite(t *testing.T) {
	t.Parallel()
	const fine = `{"id":"a","status":"SUCCESS"},{"id":"b","status":"SKIPPED"},{"id":"c","status":"INFO"}`
	tests := []struct {
		name, checks, stdout string
		want                 []string
	}{
		{"a success", fine, "exit 0", nil},
		{"a success after other words", fine, "hello\nexit 0\n", nil},
		{"a failure", fine + `,{"id":"d","status":"FAILURE","errorMessage":"no"}`, "exit 0", []string{"FAILURE d: no"}},
		{"a warning", fine + `,{"id":"d","status":"WARNING","details":{"x":1}}`, "exit 0", []string{`WARNING d: {"x":1}`}},
		{"a state that is unknown", fine + `,{"id":"d","status":"MAYBE","description":"D"}`, "exit 0", []string{"MAYBE d: D"}},
		{"no check", ``, "exit 0", []string{"nothing was checked"}},
		{
			"nothing but skips and the schemas",
			`{"id":"wire-schema-valid","status":"SUCCESS"},{"id":"b","status":"SKIPPED","errorMessage":"not declared"}`, "exit 0",
			[]string{"nothing was checked: not declared"},
		},
		{"a client that failed", fine, "exit 1", []string{"the client ended with exit 1\ncomplaint"}},
		{"a client that was killed", fine, "hello", []string{"the client did not end in time\ncomplaint"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "auth/x-2026-01-02T03-04-05-006Z/checks.json", "["+test.checks+"]")
			write(t, dir, "auth/x-2026-01-02T03-04-05-006Z/stdout.txt", test.stdout)
			write(t, dir, "auth/x-2026-01-02T03-04-05-006Z/stderr.txt", "complaint")
			write(t, dir, "auth/x-y-2026-01-02T03-04-05-006Z/checks.json", "[]")
			if got := readOutcome(dir, "client", "auth/x"); !slices.Equal(got.problems, test.want) {
				t.Errorf("got %q, want %q", got.problems, test.want)
			}
		})
	}
}

func TestScenarioWithoutAResultHasFailed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "server-broken-2026-01-02T03-04-05-006Z/checks.json", "[")
	for _, scenario := range []string{"missing", "broken"} {
		if got := readOutcome(dir, "server", scenario); len(got.problems) == 0 {
			t.Errorf("%s: got no fault, want one", scenario)
		}
	}
}

func TestScenariosAreThoseOfTheSummary(t *testing.T) {
	t.Parallel()
	const output = `Running 4 scenarios
  ✓ one: 1 passed, 0 failed (indented, so not of the summary)
=== SUMMARY ===
✓ one: 3 passed, 0 failed
✗ auth/two: 0 passed, 7 failed
⚠ three: 1 passed, 0 failed, 2 warnings

Total: 4 passed, 7 failed
`
	if got, want := scenariosOf([]byte(output)), []string{"one", "auth/two", "three"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
