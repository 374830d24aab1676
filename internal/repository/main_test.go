package repository_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/internal/testdir"
)

// Paths in these tests are relative to the root of the repository. The cache of go test does not see what they read:
// after a change of a page, run them with -count=1.
func TestMain(m *testing.M) {
	testdir.Prepare()
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
