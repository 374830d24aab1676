// Package store has wrappers of what replicas share: Sealed encrypts the values of an mcp.Store,
// SealedEvents the events of an mcp.EventStore, and Prefixed gives several users of one mcp.Store
// a part of it each.
//
// The packages below this one are stores in engines: boltstore in a file, natsstore, pgstore and
// redisstore on a server.
package store
