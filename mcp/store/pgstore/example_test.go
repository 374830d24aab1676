package pgstore_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store/pgstore"
)

func Example() {
	ctx := context.Background()
	store, err := pgstore.Open(ctx, "postgres://app:password@db.example.com/app?sslmode=verify-full", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	keys, err := mcpserver.ParseKeys(os.Getenv("FONDACO_KEYS"))
	if err != nil {
		log.Fatal(err)
	}
	srv := mcpserver.New("files", "1.0.0", &mcpserver.Options{
		Store: store,
		Bus:   store,
		Keys:  keys,
		HTTP:  &mcpserver.HTTPOptions{Events: store.Events()},
	})
	log.Fatal(srv.ListenAndServe(ctx, ":8080", nil))
}

// The tables are created by an administrator, and the server's role may only read and write rows.
func ExampleSchema() {
	fmt.Print(pgstore.Schema("files"))

	_, err := pgstore.Open(context.Background(), os.Getenv("DATABASE_URL"), &pgstore.Options{
		Namespace:      "files",
		NoCreateTables: true,
	})
	if err != nil {
		log.Fatal(err)
	}
}
