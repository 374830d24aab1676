package mcpserver_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestStoreAndBusOfTheServerAreThoseOfItsOptions(t *testing.T) {
	t.Parallel()
	if _, ok := newServer(nil).Store().(*mcpserver.MemoryStore); !ok || newServer(nil).Bus() != nil {
		t.Error("without options: want a *MemoryStore and no Bus")
	}
	store, bus := new(mcpserver.MemoryStore), new(mcpserver.MemoryBus)
	keys := []mcpserver.Key{keyA}
	if srv := newServer(&mcpserver.Options{Store: store, Bus: bus, Keys: keys}); srv.Store() != mcp.Store(store) || srv.Bus() != mcp.Bus(bus) {
		t.Errorf("got %T and %T, want the ones of the options", srv.Store(), srv.Bus())
	}
	custom := newMapStore()
	got := newServer(&mcpserver.Options{Store: custom, Keys: keys}).Store()
	if _, ok := got.(*mapStore); ok {
		t.Errorf("got %T, want it wrapped, as documented", got)
	}
	if err := got.Put(t.Context(), "key", []byte("value"), 0); err != nil {
		t.Fatal(err)
	}
	if value, found, err := custom.Get(t.Context(), "key"); err != nil || !found || string(value) != "value" {
		t.Errorf("got %q, %v, %v in the Store of the options, want what was put", value, found, err)
	}
}
