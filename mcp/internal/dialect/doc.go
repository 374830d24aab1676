// Package dialect is the one place that knows revisions.
//
// What the revisions differ in is written down twice, in two forms. Facts
// (facts.go) are data: one literal per revision says which methods may travel
// in which direction, which fields and content kinds exist, which number stands
// for which error. Eras (session.go, stateless.go) are code: the session era
// negotiates once and remembers, the stateless era says everything in every
// request. All else asks a fact and never compares dates.
//
// Both directions pass through here:
//
//	server   message ─ Open ─→ *Call in newest shapes ─ handler ─→ Seal ─→ reply
//	client   typed params ─ Request ─→ message … reply ─ Result ─→ typed result
//
// Handlers above see the shapes of the newest revision only. Shapes are brought
// down to what the peer's revision can say in shape.go.
package dialect
