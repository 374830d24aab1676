package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSlowestPackagesAndTestsComeFirst(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"one.json": `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1}
{"Action":"pass","Package":"p","Elapsed":5}`,
		"two.json": `{"Action":"pass","Package":"q","Test":"TestB","Elapsed":2}
{"Action":"pass","Package":"q","Elapsed":4}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := printSlowest(&out, dir); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(strings.Fields(out.String()), " "), "5.0s p 4.0s q 2.0s q TestB 1.0s p TestA"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSlowTestHasAReason(t *testing.T) {
	const text = "# reasons\nTestA: it waits\n"
	for _, test := range []struct {
		name    string
		elapsed float64
		want    string
	}{
		{"TestA", 9, ""},
		{"TestA", 11, " (it waits)"},
		{"TestA/part", 11, " (it waits)"},
		{"TestB", 11, " (slowtests.txt has no reason)"},
		{"", 11, ""},
	} {
		if got := whySlow(text, event{Test: test.name, Elapsed: test.elapsed}); got != test.want {
			t.Errorf("%s after %v s: got %q, want %q", test.name, test.elapsed, got, test.want)
		}
	}
}
