// Package egress makes the HTTP clients that send all outgoing requests.
//
// There are two kinds of client, for URLs of different origin. A URL that the
// user configured may have any address, but its headers and bodies must not go
// to another server: Configured follows redirects within the same origin only.
// A URL that a peer sent (metadata, keys, icons) may be a server-side request
// forgery: Guarded connects to public addresses only, and checks the address of
// the connection itself, so that neither a spelling of the address nor a
// changed DNS answer bypasses the check.
package egress
