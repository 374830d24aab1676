package mcp

import "net/netip"

// WireMessage is what a server or client has read from its peer, or is about to write to it. The
// function OnMessage of their options gets it. Package mcpwire writes it to a log.
//
// Over stdio, sockets, memory and HTTP+SSE a WireMessage is one message. Over Streamable HTTP it is
// an HTTP request with its message, a message of the response, or a response without a message.
type WireMessage struct {
	// Conn is the number of the connection, over Streamable HTTP that of the HTTP request and its
	// response. Numbers begin with 1 and are never used again in the process.
	Conn uint64
	// Sent is true for what this process writes, and false for what it has read.
	Sent bool
	// Principal is that of the client, for a message of a server, and the zero value for one of a client.
	Principal Principal
	// Address is that of the client, for a message of a server over HTTP: behind a trusted proxy that
	// which the proxy states. It is invalid if it is not known, and for messages of a client.
	Address netip.Addr
	// HTTP is nil if the transport is not Streamable HTTP.
	HTTP *WireHTTP
	// Data is the JSON-RPC message or batch as it is on the wire. It may be anything that a peer has
	// sent, and is empty if there is none. It must not be changed, and not be used after the function
	// has returned.
	Data []byte
}

// WireHTTP is the part of a WireMessage that HTTP adds.
type WireHTTP struct {
	// Method and Path are those of a request, and empty for a response. Path has no query.
	Method, Path string
	// Status is that of a response, and 0 for a request.
	Status int
	// Event is true for a message of an event stream.
	Event bool
	// Header has the headers of the request or the response, with all secrets. It must not be changed,
	// and not be used after the function has returned.
	Header map[string][]string
}
