// Package listen accepts connections. Listener bounds the connections that are open
// together, for an http.Server; Serve accepts connections and survives temporary errors,
// for other protocols. The package does not read from connections.
package listen
