//go:build !js

package egress

import "net/http"

// withoutRedirects returns t: redirects are checked by http.Client.CheckRedirect.
func withoutRedirects(t http.RoundTripper) http.RoundTripper { return t }
