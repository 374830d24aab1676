// Package natsstore keeps the state that the replicas of a server share in NATS. A [Store] is the
// mcp.Store and the mcp.Bus of a server, and [Store.Events] is its mcp.EventStore. Values and
// events are in JetStream; messages are on core NATS.
//
// # What NATS must be
//
// nats-server 2.12.1 or newer with JetStream, and with a max_payload of at least 64 KiB. A server
// with default settings will do. Open checks this, and creates two streams for its
// [Options.Namespace] unless they exist. Streams that exist stay as they are: change their limits
// and replicas with the tools of NATS. Open refuses a stream whose settings break a guarantee,
// such as allow_direct, by which servers behind the leader answer.
//
// # Names and permissions
//
// For the namespace shop:
//
//	shop_STORE, shop_EVENTS    the streams
//	shop.store.>               values: one message for each key
//	shop.events.>              events: one message for each
//	shop.bus.>                 messages of the Bus
//	_INBOX.shop.>              answers of the server
//
// A value or an event that does not fit into a message, of 1 MiB by default, has several. A user
// with these permissions suffices, and does not need those for CREATE if the streams exist:
//
//	publish: ["shop.>",
//	          "$JS.API.STREAM.CREATE.shop_STORE", "$JS.API.STREAM.INFO.shop_STORE",
//	          "$JS.API.STREAM.PURGE.shop_STORE", "$JS.API.STREAM.MSG.GET.shop_STORE",
//	          "$JS.API.STREAM.CREATE.shop_EVENTS", "$JS.API.STREAM.INFO.shop_EVENTS",
//	          "$JS.API.STREAM.PURGE.shop_EVENTS", "$JS.API.STREAM.MSG.GET.shop_EVENTS"]
//	subscribe: ["shop.bus.>", "_INBOX.shop.>"]
//
// # Guarantees
//
// The leader of a stream answers reads, so that every replica sees what another one has written. A
// leader that is cut off from its cluster may return old values until it steps down, which takes
// some seconds; it cannot write. A write that gets no answer is sent again with the same id, and
// stored once. If the server crashes in the meantime and the value is replaced, nobody knows
// whether it was stored: then Create and Swap return an error, and not false.
//
// The server expires values. It counts in whole seconds, so a time to live is rounded up.
//
// The durability of writes is that of the server: a write that has returned survives a crash of
// the process. It survives a crash of the machine if [Options.Replicas] is at least 3, or with
// sync_interval: always; by default a server syncs its files every two minutes.
//
// When a server of a cluster stops, another one becomes the leader of its streams within about a
// second. When it crashes, that takes up to ten seconds. Calls wait for five seconds and then
// fail.
//
// # Cost
//
// Get, Put, Create and Publish are one message to the server, Swap and Delete are two, and each
// but Publish has an answer. List gets the names of all keys that begin with its prefix up to the
// last dot, slash or colon, whatever its limit is. The server sends at most 100,000 names at once;
// of more, some that exist may be missing if others are deleted at that moment.
package natsstore
