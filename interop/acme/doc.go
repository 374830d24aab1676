// Package acme tests the certificates of the host with Pebble, an authority for tests of the
// ACME protocol. It is a module of its own, because it builds the authority.
package acme
