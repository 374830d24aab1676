// Package boltstore keeps the state of one process in a file: a Store is an mcp.Store, an
// mcp.Bus and, by its method Events, an mcp.EventStore.
//
//	store, err := boltstore.Open(ctx, "state.db", nil)
//	...
//	srv := mcpserver.New("files", "1.0.0", &mcpserver.Options{Store: store, Bus: store, Keys: keys})
//
// It is for servers that run as one process and have to keep their state when they restart.
// Several replicas need an engine with a server.
//
// # The file
//
// One process can have the file open. Open fails at once in another one, and its error has the
// id of the process that has it, which the file with the suffix ".pid" contains. The lock is
// that of the system and ends with the process, also by kill -9; a ".pid" file that is left over
// does not matter. Network file systems often have no reliable locks.
//
// A write has reached the disk when the method returns, and is there as a whole or not at all,
// also after kill -9 or a loss of power. That costs one or two flushes of the disk per write, and
// writes happen one after the other.
//
// Values that have expired are not found any more, and are removed every ten seconds. The pages
// of what was removed or replaced are used again for later writes. The file itself does not
// become smaller; to compact it, end the process and run "bbolt compact" of go.etcd.io/bbolt.
//
// # Messages
//
// The Bus is that of package mcpserver in memory, for there is no other process that messages
// could reach. Close ends all subscriptions.
//
// The package is available on Unix and Windows.
package boltstore
