package egress

import (
	"errors"
	"net"
	"testing"
)

func TestClientsOfPlatformsWithoutSocketsSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		dial func(goos string) dialFunc
		goos string
		want string
	}{
		{"configured", configuredDial, "linux", ""},
		{"configured, by fetch", configuredDial, "js", ""},
		{"configured", configuredDial, "wasip1", "dial tcp: unsupported operation on wasip1: set an HTTP client with a transport of the environment"},
		{"guarded", guardedDial, "linux", ""},
		{"guarded", guardedDial, "js", "dial tcp: unsupported operation on js: fetch does not tell whether the address is public"},
		{"guarded", guardedDial, "wasip1", "dial tcp: unsupported operation on wasip1: set an HTTP client with a transport of the environment"},
	}
	for _, test := range tests {
		t.Run(test.name+" on "+test.goos, func(t *testing.T) {
			t.Parallel()
			dial := test.dial(test.goos)
			if dial == nil {
				if test.want != "" {
					t.Fatalf("got the dial function of the standard library, want %q", test.want)
				}
				return
			}
			_, err := dial(t.Context(), "tcp", "example.com:443")
			if err == nil || err.Error() != test.want || !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, ok := errors.AsType[*net.OpError](err); !ok {
				t.Errorf("got %T, want a *net.OpError, so that the request counts as not sent", err)
			}
		})
	}
}
