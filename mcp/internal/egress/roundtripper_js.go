package egress

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"syscall/js"
)

// fetchRedirect is the key in a request's header by which net/http takes the
// redirect mode of fetch. It is not sent.
const fetchRedirect = "js.fetch:redirect"

// withoutRedirects makes fetch fail on a redirect. Fetch would follow it to any
// origin, and http.Client.CheckRedirect would not be called.
func withoutRedirects(t http.RoundTripper) http.RoundTripper {
	if t, ok := t.(*http.Transport); ok {
		return fetcher{t}
	}
	return t
}

// fetcher is a transport whose requests fail on a redirect.
type fetcher struct{ *http.Transport }

func (f fetcher) RoundTrip(req *http.Request) (*http.Response, error) {
	if f.dials() {
		return f.Transport.RoundTrip(req)
	}
	if err := fetchError(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	req = req.WithContext(req.Context())
	req.Header = maps.Clone(req.Header)
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	req.Header[fetchRedirect] = []string{"error"}
	return f.Transport.RoundTrip(req)
}

// dials reports whether the transport has a dial function, which net/http uses in
// place of fetch.
func (f fetcher) dials() bool {
	return f.Dial != nil || f.DialContext != nil || f.DialTLS != nil || f.DialTLSContext != nil //nolint:staticcheck // net/http reads the deprecated fields too
}

// fetchError returns an error if net/http does not use fetch, by the rules of net/http:
// it would send the request, with the header of fetch, to a network inside of the
// process.
func fetchError() error {
	if js.Global().Get("fetch").IsUndefined() {
		return fmt.Errorf("%w: the JavaScript environment has no fetch", errors.ErrUnsupported)
	}
	process := js.Global().Get("process")
	if process.Type() == js.TypeObject && strings.HasPrefix(process.Get("argv0").String(), "node") {
		return fmt.Errorf("%w: no fetch here: Go disables it under Node; start Node under another argv0", errors.ErrUnsupported)
	}
	return nil
}
