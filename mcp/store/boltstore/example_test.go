//go:build unix || windows

package boltstore_test

import (
	"context"
	"log"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store/boltstore"
)

func ExampleOpen() {
	store, err := boltstore.Open(context.Background(), "state.db", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	srv := mcpserver.New("files", "1.0.0", &mcpserver.Options{
		Store: store,
		Bus:   store,
		Keys:  []mcpserver.Key{{ID: "2026-11", Secret: []byte("32 random bytes from your config")}},
	})
	_ = srv
}
