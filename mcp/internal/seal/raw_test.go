package seal_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/seal"
)

func TestRawTokensAreBoundAndOfKnownLength(t *testing.T) {
	t.Parallel()
	r, err := seal.NewRing(seal.Key{ID: strings.Repeat("k", 32), Secret: bytes.Repeat([]byte{'s'}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range [][]byte{nil, []byte("plain"), make([]byte, 1<<16)} {
		token := r.SealRaw(plain, []byte("bound"))
		if more := len(token) - len(plain); more > seal.RawOverhead {
			t.Errorf("got %d bytes more than the plaintext, want at most %d", more, seal.RawOverhead)
		}
		before := bytes.Clone(token)
		if got, err := r.OpenRaw(token, []byte("bound"), time.Now()); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("got %d bytes, %v, want the plaintext", len(got), err)
		}
		if !bytes.Equal(token, before) {
			t.Error("OpenRaw has changed the token")
		}
		if _, err := r.OpenRaw(token, []byte("other"), time.Now()); !errors.Is(err, seal.ErrRefused) {
			t.Errorf("another binding: got %v, want that it is refused", err)
		}
	}
	for _, token := range [][]byte{nil, {1}, {1, 0}, []byte("not a token at all, but longer than one")} {
		if _, err := r.OpenRaw(token, nil, time.Now()); !errors.Is(err, seal.ErrRefused) {
			t.Errorf("%q: got %v, want that it is refused", token, err)
		}
	}
}
