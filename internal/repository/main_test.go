package repository_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/internal/testdir"
)

// Paths in these tests are relative to the root of the repository.
func TestMain(m *testing.M) {
	testdir.Prepare()
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
