// Package egress makes the HTTP clients through which everything leaves.
//
// There are two, and the difference is who chose the address. An address that
// the user of the program configured may lie anywhere, but its headers and
// bodies must not be led elsewhere: Configured follows redirects within the
// same origin only. An address that came from a peer (metadata, keys, icons)
// may be an attempt to reach what only we can reach: Guarded connects to public
// addresses only, and looks at the address that is really connected to, so that
// no spelling of it and no change of a DNS answer gets around the check.
package egress
