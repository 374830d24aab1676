// Package integration has the tests of a server and a client together: over each transport, in each revision, with
// replicas, bad peers and neighbours. Its testdata are transcripts, which show each feature on the wire. It has tests
// only.
package integration
