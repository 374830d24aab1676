// Package claim lets tests say which requirements of the protocol they show.
package claim

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// most is how many requirements one test may claim: a test that shows
// everything shows nothing.
const most = 10

// Shows says that the test, when it passes, shows that the requirements with
// these identifiers hold. A test that fails or is skipped claims nothing.
//
// Claims are written to the directory that FONDACO_CLAIMS names, one file for
// each test process; without it nothing is written.
func Shows(tb testing.TB, ids ...string) {
	tb.Helper()
	if len(ids) == 0 || len(ids) > most {
		tb.Fatalf("claim: %d requirements: a test claims between 1 and %d", len(ids), most)
	}
	directory := os.Getenv("FONDACO_CLAIMS")
	if directory == "" {
		return
	}
	tb.Cleanup(func() {
		if tb.Failed() || tb.Skipped() {
			return
		}
		if err := record(directory, tb.Name(), ids); err != nil {
			tb.Errorf("claim: %v", err)
		}
	})
}

func record(directory, test string, ids []string) error {
	name := filepath.Join(directory, fmt.Sprintf("%s-%d.tsv", filepath.Base(os.Args[0]), os.Getpid()))
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := fmt.Fprintf(f, "%s\t%s\n", id, test); err != nil {
			f.Close()
			return err
		}
	}
	return f.Close()
}
