// Package host is the vocabulary of the host: the program that brings many MCP
// servers, its upstreams, to clients as one. The packages below it do one job
// each and know each other only through this one. They are built on nothing but
// the public packages of the SDK.
package host

// Version is the version of the host, which it tells its users and its peers.
const Version = "0.1.0-dev"
