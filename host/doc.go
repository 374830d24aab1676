// Package host defines the types that the packages of the host share: upstreams, their
// states, rules and names. The host is the program that brings many MCP servers, its
// upstreams, to clients as one server. Each package below does one job and imports no
// other one of them. All use only the public packages of the SDK.
package host
