package host

import (
	"net"
	"strings"
)

// IsLoopbackHost reports whether the Host header of an HTTP request names the loopback
// interface. Other names are refused because of DNS rebinding: a web page may have made
// its own name point at this machine.
func IsLoopbackHost(hostport string) bool {
	name, _, err := net.SplitHostPort(hostport)
	if err != nil {
		name = strings.Trim(hostport, "[]")
	}
	return strings.EqualFold(name, "localhost") || net.ParseIP(name).IsLoopback()
}
