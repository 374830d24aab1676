//go:build !race

package secretform_test

import (
	"encoding/json/jsontext"
	"testing"

	"github.com/fondaco/fondaco/internal/secretform"
)

// A client caches what it knows of a schema, and looks at the message of each question.
func TestMessageOfAFormIsSearchedOnce(t *testing.T) {
	f := secretform.Read(jsontext.Value(`{"properties":{"town":{"type":"string"},"nights":{"type":"integer"}}}`))
	if n := testing.AllocsPerRun(100, func() { f.Secrets("Which town would you like to see, and for how many nights?") }); n != 0 {
		t.Errorf("got %v allocations, want none for the same message", n)
	}
}
