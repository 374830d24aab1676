package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// configuredDial returns the dial function of a configured client in place of
// that of the default transport, or nil where that one works: on js it is none,
// so that net/http uses the fetch function of the JavaScript environment.
func configuredDial(goos string) dialFunc {
	if goos == "wasip1" {
		return unsupportedDial("%w on wasip1: set an HTTP client with a transport of the environment")
	}
	return nil
}

// guardedDial returns the dial function of a guarded client that replaces the one of a
// net.Dialer, or nil on platforms where that one works. A client on js cannot be guarded, because
// the fetch function does not report the address to which it connects.
func guardedDial(goos string) dialFunc {
	if goos == "js" {
		return unsupportedDial("%w on js: fetch does not tell whether the address is public")
	}
	return configuredDial(goos)
}

// unsupportedDial returns a dial function that fails with errors.ErrUnsupported,
// which the format wraps.
func unsupportedDial(format string) dialFunc {
	return func(_ context.Context, network, _ string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf(format, errors.ErrUnsupported)}
	}
}
