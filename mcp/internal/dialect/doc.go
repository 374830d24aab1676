// Package dialect converts messages between the newest shapes and the revision
// of a peer. No other package depends on single revisions.
//
// The differences between revisions have two forms. Facts (facts.go) are data:
// one literal per revision lists which methods exist in which direction, which
// fields and content kinds exist, and the number of each error. Eras
// (session.go, stateless.go) are code: the session era negotiates once and
// keeps the result in a session, the stateless era carries everything in every
// request. All other code reads a fact and never compares dates.
//
// Both directions pass through here:
//
//	server   message ─ Open ─→ *Call in newest shapes ─ handler ─→ Seal ─→ reply
//	client   typed params ─ Request ─→ message … reply ─ Result ─→ typed result
//
// Handlers see only the shapes of the newest revision. convert.go converts them
// to the peer's revision.
package dialect
