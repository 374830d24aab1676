// Package peer keeps the books of one JSON-RPC peer: which requests of the
// other side are being worked on (Running), and which of our own wait for their
// answer (Pending). It knows JSON-RPC and nothing of what the methods mean.
//
// Both tables belong to one connection or session. What another connection
// sends, under whatever ids, cannot reach them.
package peer
