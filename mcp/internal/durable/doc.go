// Package durable finds the work of processes that have ended, so that others continue it.
//
// A process that runs work holds one Lease, whatever the number of its work: a key that expires
// in the Store unless it is renewed. The time during which a process holds a lease without
// interruption is a Term, which has a random token. A process that could not renew its lease in
// time has lost the Term and all of its work; it begins another Term with another token. Only the
// Store decides when a key has expired. The clocks of two processes are never compared for this.
//
// A Queue says which work there is, by keys without values, so that one List finds what is to be
// done without reading the work that runs:
//
//	durable.<queue>.lease.<token>      a Term, until it ends; expires unless it is renewed
//	durable.<queue>.holder.<token>     a Term that may have work, kept after it has been lost
//	durable.<queue>.run.<token>.<id>   work that runs in the Term
//	durable.<queue>.due.<time>.<id>    work that nobody runs, and when it is to be run
//	durable.<queue>.dead.<id>          work that is not run until somebody asks for it
//
// The keys can be wrong after a crash between two writes: what counts is the record of the work
// itself, which its owner keeps elsewhere and changes by Swap. A record names the token of the
// Term that runs it. Each change that the work makes has to find its own token in the record, so
// that a process that has lost its Term cannot change work that another one has taken over. A key
// is written before the record that it describes, and once more after it, and then the key of the
// state before is deleted. Who follows a key that does not fit its record deletes the key, reads the
// record again, and writes the key again if it fits now: work without a key would be lost.
package durable
