// Package oauth implements the wire format of OAuth 2.1, independent of MCP: it
// parses and checks what was received, and makes requests that disclose nothing
// to other servers.
//
// Errors never repeat text that a peer has sent, except for values from a
// closed set, such as standard error codes. Secrets have type [Secret] from
// where they are read to where they are sent.
package oauth
