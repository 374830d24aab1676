package host

import (
	"net"
	"strings"
)

// NamesThisMachine reports whether the Host header of an HTTP request is a name of the
// loopback interface. Who comes by another name may have been led here by a web page
// whose own name was made to point at this machine.
func NamesThisMachine(hostport string) bool {
	name, _, err := net.SplitHostPort(hostport)
	if err != nil {
		name = strings.Trim(hostport, "[]")
	}
	return strings.EqualFold(name, "localhost") || net.ParseIP(name).IsLoopback()
}
