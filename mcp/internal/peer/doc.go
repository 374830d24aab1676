// Package peer has the tables of requests in flight of one JSON-RPC peer:
// inbound requests that are being processed (Running), and outbound requests
// that wait for their response (Pending). It does not depend on the meaning of
// methods.
//
// Both tables belong to one connection or session. Messages of another
// connection cannot change them, whatever ids they have.
package peer
