// Package fondaco is the root of a Go SDK and a host for the Model Context
// Protocol. It holds no code; start at one of these:
//
//   - mcp/mcpserver to write a server
//   - mcp/mcpclient to write a client
//   - mcp for the protocol's vocabulary, which both speak
//   - cmd/fondaco for the host: many servers behind one endpoint
package fondaco
