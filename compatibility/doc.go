// Package compatibility tests peers that deviate from the protocol. It has tests only:
//
//   - servers_test.go: servers that deviate, and what their client gets;
//   - clients_test.go: clients that deviate, and what they are answered;
//   - behindhost_test.go: the same with a host in between;
//   - networks_test.go: proxies, names and certificates of a company's network;
//   - programs_test.go: programs that clients start, and the end of their input;
//   - page_test.go: docs/compatibility.md describes these rows and no others.
//
// A row of a peer is one literal. Each is run over stdio and over HTTP, with our client or server at
// the other end and with a host in between, and the time limits of the client are far away, so that
// only what the peer sends can be the reason of an answer. If the peer stays silent, the limit that
// has to be the reason is near. A row holds the raw bytes that the peer sends:
//
//	row ── rawServer (rawserver_test.go) ── stdio of a child, or HTTP ──┬─ mcpclient
//	                                                                    └─ fondaco up ── mcpclient
//	row ── rawClient (rawclient_test.go) ── stdio, or HTTP ──┬─ mcpserver
//	                                                         └─ fondaco up or stdio ── mcpserver
package compatibility
