package natsstore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/store/natsstore"
)

// maxSubject is less than the line of the protocol that servers accept by default, 4,096 bytes.
const maxSubject = 2048

func TestKeysHaveSubjectsOfTheirOwn(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for c := byte(' '); c <= '~'; c++ {
		all.WriteByte(c)
	}
	keys := []string{
		"a", "a.", ".a", ".", "..", "a..b", "a.b", "a/b", "a/", "a:b", "a*", "*", ">", "a.>", "a b", " ", "=", "=2e", "a=2e", "$JS",
		all.String(), strings.Repeat(".", 256), strings.Repeat("~", 256), strings.Repeat("k", 256),
	}
	seen := make(map[string]string)
	for _, key := range keys {
		subject := natsstore.ValueSubject("shop", key)
		if other, ok := seen[subject]; ok {
			t.Errorf("keys %q and %q have one subject %q", other, key, subject)
		}
		seen[subject] = key
		checkSubject(t, subject)
		if got, ok := natsstore.KeyOf("shop", subject); !ok || got != key {
			t.Errorf("key of %q: got %q, %v, want %q", subject, got, ok, key)
		}
		checkSubject(t, natsstore.TopicSubject("shop", key))
	}
}

// checkSubject checks that servers take a subject as it is.
func checkSubject(t *testing.T, subject string) {
	t.Helper()
	if len(subject) > maxSubject || strings.ContainsAny(subject, " *>\t") || slices.Contains(strings.Split(subject, "."), "") {
		t.Errorf("got subject %q of %d bytes, want tokens without wildcards and at most %d bytes", subject, len(subject), maxSubject)
	}
}

func TestForeignSubjectsAreNoKeys(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{
		"", "shop", "shop.store.0.", "shop.store.0.a", "shop.store.0.a b.=", "shop.store.0.=2.=", "shop.store.0.=zz.=",
		"shop.store.0.=2E.=", "shop.store.1.a.=", "other.store.0.a.=",
	} {
		if key, ok := natsstore.KeyOf("shop", subject); ok {
			t.Errorf("%q: got key %q, want none", subject, key)
		}
	}
}

func TestFilterMatchesAllKeysWithItsPrefix(t *testing.T) {
	t.Parallel()
	keys := []string{"task.1", "task.", "task", "task.1.a", "tasks.1", "a/b/c", "a/b", "a/", "a"}
	for _, key := range keys {
		for end := range len(key) + 1 {
			filter := natsstore.ValuesBelow("shop", key[:end])
			below, ok := strings.CutSuffix(filter, ">")
			if subject := natsstore.ValueSubject("shop", key); !ok || !strings.HasPrefix(subject, below) {
				t.Errorf("filter of %q: got %q, which does not match %q", key[:end], filter, subject)
			}
		}
	}
	if got, want := natsstore.ValuesBelow("shop", "task.4711/ab"), natsstore.ValuesBelow("shop", "task.4711/"); got != want {
		t.Errorf("got %q, want %q: the filter up to the last separator", got, want)
	}
}

func TestVersionsAreComparedByNumber(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"2.12.1": true, "2.12.1-RC.1": true, "2.15.2": true, "3.0.0": true, "2.12.10": true,
		"2.12.0": false, "2.9.25": false, "2.11.9": false, "1.20.0": false, "": false, "x": false,
	} {
		if got := natsstore.AtLeast(version, []int{2, 12, 1}); got != want {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
}
