package tasks

import (
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// transparent is a sealer that does not encrypt.
type transparent struct{}

func (transparent) Seal(data []byte, _ string, _ time.Time) []byte { return data }
func (transparent) Unseal(sealed []byte, _ string) ([]byte, error) { return sealed, nil }

// Values of the Store can be anything, also without the encryption of durable tasks.
func FuzzStoredEntry(f *testing.F) {
	const id, plainID = "dAAAAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAA"
	s := &entryStore{sealer: transparent{}}
	e := newEntry("owner", mcp.MethodToolsCall, time.Hour, time.Second)
	e.makeDurable("tool")
	e.ID = id
	e.ask("key", mcp.InputRequest{Method: mcp.MethodElicit, Params: []byte(`{}`)})
	raw, err := s.encode(e)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"id":"dAAAAAAAAAAAAAAAAAAAAAAAAA","durable":{}}`))
	f.Add([]byte(`{"id":"AAAAAAAAAAAAAAAAAAAAAAAAAA"}`))
	f.Add([]byte(`{"id":"dAAAAAAAAAAAAAAAAAAAAAAAAA","durable":null,"open":null}`))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, id := range []string{id, plainID, ""} {
			e := s.decode(id, raw)
			if e == nil {
				continue
			}
			if e.ID != id || (e.Durable != nil) != isDurableID(id) {
				t.Fatalf("the entry of %q is that of %q, durable %v", id, e.ID, e.Durable != nil)
			}
			_, _, _ = e.task(), e.core(), e.version()
			_ = isDead(e)
			q := mcp.InputRequest{Method: mcp.MethodElicit, Params: []byte(`{}`)}
			e.ask("key", q)
			e.take(map[string]answer{"key": {Value: []byte(`1`)}})
			e.ask("key", q)
			if e.Durable != nil && e.asks("key") {
				t.Fatal("an answered question is asked again")
			}
			if again, err := s.encode(e); err != nil || s.decode(id, again) == nil {
				t.Fatalf("the entry cannot be written again: %v", err)
			}
			e.end(mcp.TaskFailed, "")
		}
	})
}
