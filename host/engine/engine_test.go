package engine_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/engine"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store/boltstore"
)

func key(id string) mcpserver.Key {
	return mcpserver.Key{ID: id, Secret: bytes.Repeat([]byte(id), 32)[:32]}
}

func TestPartsAreReadWithAnyOfTheKeysAndNoOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	use := func(f func(e *engine.Engine), keys ...mcpserver.Key) {
		t.Helper()
		e, err := engine.Open(t.Context(), "file:"+path, keys, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		f(e)
	}
	get := func(e *engine.Engine, part string) (string, error) {
		s, err := e.Part(part)
		if err != nil {
			t.Fatal(err)
		}
		value, _, err := s.Get(t.Context(), "k")
		return string(value), err
	}
	use(func(e *engine.Engine) {
		s, err := e.Part("state")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), "k", []byte("CANARY"), 0); err != nil {
			t.Fatal(err)
		}
	}, key("old"))
	use(func(e *engine.Engine) {
		if got, err := get(e, "state"); got != "CANARY" || err != nil {
			t.Errorf("got %q, %v with the key after rotation", got, err)
		}
	}, key("new"), key("old"))
	use(func(e *engine.Engine) {
		if got, err := get(e, "state"); got != "" || err == nil {
			t.Errorf("got %q, %v with another key, want an error", got, err)
		}
	}, key("new"))
	raw, err := boltstore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := raw.Get(t.Context(), "host/state/k")
	if err != nil || bytes.Contains(value, []byte("CANARY")) {
		t.Errorf("got %q, %v, want it encrypted", value, err)
	}
	if err := raw.Put(t.Context(), "host/server/k", value, 0); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	use(func(e *engine.Engine) {
		if got, err := get(e, "server"); got != "" || err == nil {
			t.Errorf("got %q, %v of a value that was moved to another part, want an error", got, err)
		}
	}, key("old"))
}

func TestEventsAreEncryptedWithTheKeysOfTheHost(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-294")
	path := filepath.Join(t.TempDir(), "store.db")
	e, err := engine.Open(t.Context(), "file:"+path, []mcpserver.Key{key("one")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(e.Events.Append(t.Context(), "s", 1, []byte("CANARY")), e.Close())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := boltstore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := raw.Events().After(t.Context(), "s", 0)
	if err != nil || len(stored) != 1 || bytes.Contains(stored[0], []byte("CANARY")) {
		t.Errorf("got %q, %v, want one encrypted event", stored, err)
	}
	err = errors.Join(raw.Events().Append(t.Context(), "forged", 1, []byte("CANARY")), raw.Close())
	if err != nil {
		t.Fatal(err)
	}
	e, err = engine.Open(t.Context(), "file:"+path, []mcpserver.Key{key("two"), key("one")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if msgs, err := e.Events.After(t.Context(), "s", 0); err != nil || len(msgs) != 1 || string(msgs[0]) != "CANARY" {
		t.Errorf("got %q, %v, want the event", msgs, err)
	}
	if msgs, err := e.Events.After(t.Context(), "forged", 0); err == nil {
		t.Errorf("got %q of an event that was made without the keys, want an error", msgs)
	}
}

func TestAddressIsShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"redis://u:CANARY@h:1/0", "postgres://h/d?password=CANARY", "redis://u:CANARY%@h", "redis://u:CAN?ARY@h", "nats://u:CANARY@h:1,nats://u:CANARY@h:2"} {
		if got := engine.Redacted(address); strings.Contains(got, "CAN") {
			t.Errorf("got %s of %s", got, address)
		}
	}
}
