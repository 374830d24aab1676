// Package redisstore keeps the state that the replicas of a server share in Redis 6.2 or newer
// (tested with 7.0), or in a compatible server, which was not tested. A [Store] is the
// mcp.Store and the mcp.Bus of a server, and [Store.Events] is its mcp.EventStore.
//
// # What Redis must be
//
// One primary holds the data, and all reads go to it, so that a write is seen by every later
// call. A replica of Redis is refused. The durability of writes is that of the server: with
// appendonly and appendfsync always, a write that has returned survives a crash, with
// everysec those of the last seconds may be lost. Redis copies writes to its replicas after it has
// answered, so a failover may lose the last ones, among them marks of used tokens.
//
// The policy when its memory is full must be noeviction, which is the default: any other may
// remove values before they expire. Open logs a warning otherwise. A write to a full server
// fails with an error that says so.
//
// # Cluster
//
// If the server belongs to a cluster, Open finds the other nodes by itself. All keys of one
// Namespace have the hash tag {namespace}, because one script changes a value and the list of
// keys together. They are in one slot, and so on one node: a cluster gives a namespace failover,
// but no more memory and throughput than one node has. Several namespaces are spread over the nodes.
// Redis Sentinel is not asked where the primary is: give Open an address that leads to it.
//
// # Keys and rights
//
// Names in Redis begin with the namespace in braces:
//
//	{fondaco}:value:KEY                 a value, with its expiry
//	{fondaco}:keys                      the sorted set of all keys, for List
//	{fondaco}:events:STREAM             the hash of the events of a stream
//	{fondaco}:event-times, event-bytes  the last use and the size of all streams
//	{fondaco}:bus:0:TOPIC               the channel of a topic; 0 is the database, because channels
//	                                    belong to all databases
//
// A user with these rights suffices:
//
//	ACL SETUSER fondaco on >PASSWORD ~{fondaco}:* &{fondaco}:* +@read +@write +@scripting +@pubsub +@connection +info +time
package redisstore
