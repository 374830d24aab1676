package egress

import (
	"maps"
	"net/http"
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
	req = req.WithContext(req.Context())
	req.Header = maps.Clone(req.Header)
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	req.Header[fetchRedirect] = []string{"error"}
	return f.Transport.RoundTrip(req)
}
