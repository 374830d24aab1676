package repository_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/internal/testdir"
)

// Paths in these tests are relative to the root of the repository. The cache of go test does not see what they read, nor
// what the commands read that they start, so it would show an earlier result after a change of a page: without this log
// it keeps none.
func TestMain(m *testing.M) {
	testdir.Prepare()
	flag.Parse()
	if err := flag.Set("test.testlogfile", ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestResultsOfTheRepositoryAreNotCached(t *testing.T) {
	t.Parallel()
	if log := flag.Lookup("test.testlogfile").Value.String(); log != "" {
		t.Errorf("got the log %s, with which go test keeps the results, want none", log)
	}
}
