package redisstore_test

import (
	"context"
	"crypto/tls"
	"log"
	"os"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

// Each replica opens the same namespace and has the same keys.
func ExampleOpen() {
	ctx := context.Background()
	store, err := redisstore.Open(ctx, "rediss://redis.internal:6379", &redisstore.Options{
		Namespace: "shop",
		TLS:       &tls.Config{MinVersion: tls.VersionTLS13},
		User:      "shop",
		Password:  os.Getenv("REDIS_PASSWORD"),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	keys, err := mcpserver.ParseKeys(os.Getenv("FONDACO_KEYS"))
	if err != nil {
		log.Print(err)
		return
	}
	srv := mcpserver.New("shop", "1.0.0", &mcpserver.Options{
		Keys:  keys,
		Store: store,
		Bus:   store,
		HTTP:  &mcpserver.HTTPOptions{Events: store.Events()},
	})
	log.Print(srv.ListenAndServe(ctx, ":8080", nil))
}
