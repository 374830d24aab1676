package textcache_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/textcache"
)

func TestEqualTextsAreDerivedOnce(t *testing.T) {
	t.Parallel()
	derived := 0
	c := textcache.New(func(text []byte) (*string, error) {
		derived++
		return new(strings.ToUpper(string(text))), nil
	})
	text := []byte("a")
	for range 3 {
		if got, err := c.Get(text); err != nil || *got != "A" {
			t.Fatalf("got %v, %v, want A", got, err)
		}
	}
	if derived != 1 {
		t.Errorf("got %d derivations, want 1", derived)
	}
	text[0] = 'b'
	if got, err := c.Get(text); err != nil || *got != "B" {
		t.Errorf("got %v, %v for a text in reused memory, want B", got, err)
	}
}

func TestWhatIsNotCached(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text  string
		value *int
		err   error
	}{
		"an error":    {"x", nil, errors.New("no value")},
		"nil":         {"x", nil, nil},
		"a long text": {strings.Repeat("x", 2049), new(1), nil},
	} {
		derived := 0
		c := textcache.New(func([]byte) (*int, error) {
			derived++
			return test.value, test.err
		})
		for range 2 {
			if got, err := c.Get([]byte(test.text)); got != test.value || err != test.err {
				t.Errorf("%s: got %v, %v", name, got, err)
			}
		}
		if derived != 2 {
			t.Errorf("%s: got %d derivations, want 2", name, derived)
		}
	}
}

func TestTheMemoryOfACacheIsBounded(t *testing.T) {
	t.Parallel()
	derived := 0
	c := textcache.New(func([]byte) (*int, error) {
		derived++
		return new(derived), nil
	})
	texts := make([][]byte, 1000)
	for i := range texts {
		texts[i] = []byte(strings.Repeat("x", i))
	}
	for range 2 {
		for _, text := range texts {
			if _, err := c.Get(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if least := 2*len(texts) - 64; derived < least {
		t.Errorf("got %d derivations, want at least %d: the cache has 64 slots", derived, least)
	}
}
