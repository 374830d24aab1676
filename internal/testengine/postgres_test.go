package testengine_test

import (
	"testing"

	"github.com/fondaco/fondaco/internal/testengine"
)

func TestPostgresRestarts(t *testing.T) {
	t.Parallel()
	s := testengine.Postgres(t)
	s.Stop()
	s.Start()
	for range 3 { // whose children end a little later
		s.Kill()
		s.Start()
	}
}
