package store_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store"
)

func ExampleSealed() {
	engine := new(mcpserver.MemoryStore) // or that of a package below this one
	keys := []mcpserver.Key{{ID: "2026-11", Secret: []byte("32 random bytes from your config")}}
	s, err := store.Sealed(engine, keys...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	_ = s.Put(ctx, "token", []byte("secret"), 0)
	value, _, _ := s.Get(ctx, "token")
	stored, _, _ := engine.Get(ctx, "token")
	fmt.Println(string(value), string(stored) == "secret")
	// Output: secret false
}

func ExamplePrefixed() {
	engine := new(mcpserver.MemoryStore)
	orders, carts := store.Prefixed(engine, "orders/"), store.Prefixed(engine, "carts/")
	ctx := context.Background()
	_ = orders.Put(ctx, "1", nil, 0)
	_ = carts.Put(ctx, "7", nil, 0)
	keys, _ := orders.List(ctx, "", "", 10)
	fmt.Println(keys)
	keys, _ = engine.List(ctx, "", "", 10)
	fmt.Println(keys)
	// Output:
	// [1]
	// [carts/7 orders/1]
}
