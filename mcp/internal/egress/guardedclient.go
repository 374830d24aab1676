package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"syscall"
	"time"
)

const (
	guardedTimeout = 10 * time.Second
	connectTimeout = 5 * time.Second
)

// Policy allows a guarded client further addresses. Nil and the zero Policy
// allow public addresses only, without a proxy.
type Policy struct {
	// Loopback allows the loopback interface. Set it for a server that the user
	// configured on loopback.
	Loopback bool
	// Prefixes are additional allowed address ranges, such as 10.1.0.0/16.
	Prefixes []netip.Prefix
	// Proxy returns the proxy of a request, nil if it goes directly, as http.ProxyFromEnvironment
	// and http.ProxyURL do. A proxy may have any address. Nil means no proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// RootCAs are the certificate authorities that certify servers. Nil means
	// those of the system.
	RootCAs *x509.CertPool
	// Lookup returns the addresses of a name for CheckHost, as net.Resolver.LookupNetIP does.
	// Nil means that of the system.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Guarded returns a client for URLs that a peer sent. It connects only to
// addresses that the policy allows, keeps no cookies, follows at most three
// redirects of GET and HEAD, never from https to http, requires TLS 1.2 or
// newer, and times out after ten seconds. The caller must limit how much it
// reads. On js and wasip1 every request fails with errors.ErrUnsupported.
//
// Of a request that goes through a proxy, the host is checked before it is sent, see CheckHost. The
// proxy resolves names again, and those that are unknown here.
func Guarded(p *Policy) *http.Client {
	if p == nil {
		p = new(Policy)
	}
	c := &http.Client{CheckRedirect: guardRedirect, Timeout: guardedTimeout}
	direct := p.transport(&net.Dialer{Timeout: connectTimeout, Control: p.control})
	if c.Transport = direct; p.Proxy != nil {
		c.Transport = newProxiedTransport(p, direct)
	}
	return c
}

// transport returns a transport without a proxy.
func (p *Policy) transport(dialer *net.Dialer) *http.Transport {
	t := transport()
	t.Proxy = nil
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: p.RootCAs}
	t.DialContext = guardedDial(runtime.GOOS)
	if t.DialContext == nil {
		t.DialContext = dialer.DialContext
	}
	return t
}

// BlockedError reports an address that a guarded client may not connect to.
type BlockedError struct{ Addr netip.Addr }

func (e *BlockedError) Error() string {
	return fmt.Sprintf("connection to %s blocked: want a public address, or one in the allowed prefixes", e.Addr)
}

// control runs before each connection is opened, with the resolved address.
func (p *Policy) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("connection to %s blocked: %w", address, err)
	}
	if !p.Allows(ap.Addr()) {
		return &BlockedError{ap.Addr()}
	}
	return nil
}

// guardRedirect is a CheckRedirect. control checks the address when the client
// connects.
func guardRedirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("redirect refused: want at most %d in a row", maxRedirects)
	case via[0].Method != http.MethodGet && via[0].Method != http.MethodHead:
		return fmt.Errorf("redirect of %s refused: want GET or HEAD", via[0].Method)
	case req.URL.Scheme != from.URL.Scheme && req.URL.Scheme != "https":
		return errors.New("redirect refused: want https after https")
	}
	return nil
}
