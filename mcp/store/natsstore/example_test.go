package natsstore_test

import (
	"context"
	"log"
	"os"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store/natsstore"
)

// Each replica opens the same namespace and has the same keys.
func ExampleOpen() {
	ctx := context.Background()
	store, err := natsstore.Open(ctx, "nats://nats.internal:4222", &natsstore.Options{
		Namespace:       "shop",
		CredentialsFile: "shop.creds",
		Replicas:        3,
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
