package fondaco_test

import (
	"os"
	"testing"

	"github.com/fondaco/fondaco/internal/testdir"
)

func TestMain(m *testing.M) {
	testdir.Prepare()
	os.Exit(m.Run())
}
