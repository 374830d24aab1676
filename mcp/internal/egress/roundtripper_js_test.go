package egress

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Run it with go test -exec "$(go env GOROOT)/lib/wasm/go_js_wasm_exec".
func TestRequestUnderNodeReportsTheMissingFetch(t *testing.T) {
	t.Parallel()
	_, err := Configured(nil, slog.Default()).Get("http://127.0.0.1:1/")
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "Go disables it under Node") {
		t.Errorf("got %v, want the reason why there is no fetch", err)
	}
	if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Errorf("got %T, want a *net.OpError, so that the request counts as not sent", err)
	}
}

func TestTransportThatDialsGetsNoHeaderOfFetch(t *testing.T) {
	t.Parallel()
	dial := new(http.Transport)
	failed := errors.New("dialed")
	dial.Dial = func(string, string) (net.Conn, error) { return nil, failed }
	if _, err := Configured(&http.Client{Transport: dial}, slog.Default()).Get("http://127.0.0.1:1/"); !errors.Is(err, failed) {
		t.Errorf("got %v, want the error of the dial function", err)
	}
}
