package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/seal"
)

func TestMain(m *testing.M) { leak.Main(m) }

var (
	now   = time.Unix(1_800_000_000, 0)
	later = now.Add(10 * time.Minute)
	bound = []byte("ada calls book")
	old   = seal.Key{ID: "old", Secret: bytes.Repeat([]byte{1}, 32)}
	fresh = seal.Key{ID: "new", Secret: bytes.Repeat([]byte{2}, 32)}
)

func ring(t *testing.T, keys ...seal.Key) *seal.Ring {
	t.Helper()
	r, err := seal.NewRing(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSealedStateOpens(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 100, 64 << 10} {
		plain := bytes.Repeat([]byte("x"), size)
		r := seal.Random()
		got, err := r.Open(r.Seal(plain, bound, later), bound, now)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("size %d: got %d bytes, %v", size, len(got), err)
		}
	}
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-294")
	r := ring(t, old)
	token := r.Seal([]byte("secret"), bound, later)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range token {
		for bit := range 6 {
			c := alphabet[strings.IndexByte(alphabet, token[i])^(1<<bit)]
			forged := token[:i] + string(c) + token[i+1:]
			if got, err := r.Open(forged, bound, now); !errors.Is(err, seal.ErrRefused) {
				t.Fatalf("character %d, bit %d: got %q, %v, want %v", i, bit, got, err, seal.ErrRefused)
			}
		}
	}
}

func TestTruncatedAndForeignTokensAreRefused(t *testing.T) {
	t.Parallel()
	r := ring(t, old)
	token := r.Seal([]byte("secret"), bound, later)
	for n := range len(token) {
		if _, err := r.Open(token[:n], bound, now); !errors.Is(err, seal.ErrRefused) {
			t.Fatalf("%d characters: got %v", n, err)
		}
	}
	for name, forged := range map[string]string{
		"longer":       token + "AAAA",
		"padded":       token + "=",
		"with newline": token[:8] + "\n" + token[8:],
		"of another":   seal.Random().Seal([]byte("secret"), bound, later),
		"other secret": ring(t, seal.Key{ID: "old", Secret: fresh.Secret}).Seal([]byte("secret"), bound, later),
	} {
		if _, err := r.Open(forged, bound, now); !errors.Is(err, seal.ErrRefused) {
			t.Errorf("%s: got %v, want %v", name, err, seal.ErrRefused)
		}
	}
}

func TestTokensBelongToTheirBindingAndTime(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-295")
	r := ring(t, old)
	token := r.Seal([]byte("secret"), bound, later)
	if _, err := r.Open(token, []byte("bob calls book"), now); !errors.Is(err, seal.ErrRefused) {
		t.Errorf("another binding: got %v", err)
	}
	for _, expires := range []time.Time{later, later.Add(time.Nanosecond), later.Add(time.Second - time.Nanosecond), seal.Forever} {
		token := r.Seal([]byte("secret"), bound, expires)
		if _, err := r.Open(token, bound, expires.Add(-time.Nanosecond)); err != nil {
			t.Errorf("before its expiry: got %v", err)
		}
		if _, err := r.Open(token, bound, expires); !errors.Is(err, seal.ErrRefused) {
			t.Errorf("expired: got %v", err)
		}
	}
	if _, err := r.Open(r.Seal([]byte("secret"), bound, seal.Forever.Add(time.Hour)), bound, now); err != nil {
		t.Errorf("with an expiry that no token can have: got %v", err)
	}
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	token := ring(t, old).Seal([]byte("secret"), bound, later)
	if _, err := ring(t, fresh, old).Open(token, bound, now); err != nil {
		t.Errorf("in its window: got %v", err)
	}
	if _, err := ring(t, fresh).Open(token, bound, now); !errors.Is(err, seal.ErrRefused) {
		t.Errorf("after its window: got %v", err)
	}
	if _, err := ring(t, old, fresh).Open(ring(t, fresh, old).Seal(nil, bound, later), bound, now); err != nil {
		t.Errorf("on a replica that is behind: got %v", err)
	}
}

func TestBadKeysAreNamed(t *testing.T) {
	t.Parallel()
	for want, keys := range map[string][]seal.Key{
		"no key":      nil,
		"duplicate":   {old, old},
		"key id \"\"": {{Secret: old.Secret}},
		"want 1 to":   {{ID: strings.Repeat("k", 33), Secret: old.Secret}},
		"5 bytes":     {{ID: "short", Secret: []byte("short")}},
	} {
		if _, err := seal.NewRing(keys...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestKeysHideTheirSecret(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-256")
	k := seal.Key{ID: "k1", Secret: []byte("correct horse battery staple, again")}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", k, "list", fmt.Sprint([]seal.Key{k}))
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s %x", k, k, k, k, k), fmt.Sprintf("%+v", &k), log.String()} {
		if strings.Contains(text, "horse") || strings.Contains(text, "636f7272") || !strings.Contains(text, "k1") {
			t.Errorf("got %s", text)
		}
	}
}

func FuzzOpen(f *testing.F) {
	r, err := seal.NewRing(old)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(r.Seal([]byte("secret"), bound, later))
	f.Add("")
	f.Add("AQNvbGQ")
	f.Fuzz(func(t *testing.T, token string) {
		if plain, err := r.Open(token, bound, now); err == nil && string(plain) != "secret" {
			t.Errorf("opened %q to %q", token, plain)
		}
	})
}
