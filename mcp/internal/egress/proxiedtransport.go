package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// proxiedTransport is the transport of a guarded client with proxies. Requests through a proxy have
// connections of their own, because only a proxy may have any address: a peer could name it as a
// target.
type proxiedTransport struct {
	policy  *Policy
	direct  *http.Transport
	through *http.Transport // to the proxy in the context of the request
}

func newProxiedTransport(p *Policy, direct *http.Transport) *proxiedTransport {
	t := &proxiedTransport{policy: p, direct: direct, through: p.transport(&net.Dialer{Timeout: connectTimeout})}
	t.through.Proxy = func(req *http.Request) (*url.URL, error) {
		proxy, _ := req.Context().Value(proxyKey{}).(*url.URL)
		return proxy, nil
	}
	t.through.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		return notSent(fmt.Errorf("the proxy answered with HTTP status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	}
	return t
}

// proxyKey is the key of a proxy in the context of a request. It has always one there.
type proxyKey struct{}

// RoundTrip implements http.RoundTripper.
func (t *proxiedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	proxy, err := t.policy.proxyOf(req)
	if err == nil && proxy == nil {
		return t.direct.RoundTrip(req)
	}
	if err == nil {
		err = t.policy.CheckHost(req.Context(), req.URL.Hostname())
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, notSent(err)
	}
	return t.through.RoundTrip(req.WithContext(context.WithValue(req.Context(), proxyKey{}, proxy)))
}

// CloseIdleConnections implements what http.Client.CloseIdleConnections looks for.
func (t *proxiedTransport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.through.CloseIdleConnections()
}

// notSent returns the error of a request that was not sent, as a failure to connect.
func notSent(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

// proxyOf returns the proxy of a request, nil if it goes directly. Errors do not have the text of a
// proxy, which may contain a password.
func (p *Policy) proxyOf(req *http.Request) (*url.URL, error) {
	if p.Proxy == nil {
		return nil, nil
	}
	proxy, err := p.Proxy(req)
	if err != nil {
		return nil, errors.New("the proxy is no URL: want one such as http://proxy.example.com:3128 in HTTPS_PROXY")
	}
	return proxy, nil
}
