// Package pgstore keeps the shared state of replicas in PostgreSQL: a Store is an mcp.Store, an
// mcp.Bus and, by its method Events, an mcp.EventStore.
//
//	store, err := pgstore.Open(ctx, "postgres://app:password@db.example.com/app?sslmode=verify-full", nil)
//	...
//	srv := mcpserver.New("files", "1.0.0", &mcpserver.Options{Store: store, Bus: store, Keys: keys})
//
// # Tables
//
// Each namespace has tables of its own, whose names begin with the namespace. Open creates those
// that are missing in the first schema of the role's search_path, unless Options.NoCreateTables
// is set; Schema returns the statements. Values expire by the clock of the database, and each
// Store deletes expired rows every five to ten seconds. PostgreSQL 13 or newer is needed.
//
// Each method is one statement that decides by rows that it has locked, so the isolation level
// read committed suffices: a statement that waited for another one sees what that one has written.
// Connections are set to that level and to read-write transactions.
//
// # Messages
//
// The Bus uses LISTEN and NOTIFY: one channel per topic, one listening connection per Store, and
// no table. A message of more than 5,900 bytes is sent as several notifications of one
// transaction. The listening connection is checked every two seconds and opened again when it
// fails; messages of the time between are lost. A subscription that is slow holds 1,024
// messages and 16 MiB, and loses the oldest ones of more.
//
// # Poolers
//
// Subscriptions need a connection of their own, so they do not work through a pooler that gives a
// client another connection for each transaction, such as PgBouncer with pool_mode=transaction:
// Subscribe fails and says so. Give Open the address of the server itself, or one in session mode.
package pgstore
