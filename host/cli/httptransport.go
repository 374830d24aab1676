package cli

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/tlsserver"
)

// httpTransport configures how requests reach a host: in plain text, over TLS, or through
// reverse proxies.
type httpTransport struct {
	certFile string
	keyFile  string
	domains  list
	proxies  list

	trusted []netip.Prefix // those of proxies
}

func (p *httpTransport) declare(f *flag.FlagSet) {
	f.StringVar(&p.certFile, "tls-cert", "", "serve HTTPS with the certificates of `FILE`, in PEM")
	f.StringVar(&p.keyFile, "tls-key", "", "private key of --tls-cert, a `FILE` in PEM")
	f.Var(&p.domains, "acme", "serve HTTPS with certificates for `DOMAIN` by ACME")
	f.Var(&p.proxies, "behind-proxy", "`IP` or network of a proxy in front, which does TLS")
}

// acmeDirectory is the variable with the URL of the authority's directory, if it is not that of
// Let's Encrypt.
const acmeDirectory = "FONDACO_ACME_DIRECTORY"

// encrypted reports whether the host serves HTTPS.
func (p *httpTransport) encrypted() bool { return p.certFile != "" || len(p.domains) > 0 }

// check reports flags that exclude each other, and plain text on the network.
func (p *httpTransport) check(addr *net.TCPAddr) error {
	switch {
	case (p.certFile == "") != (p.keyFile == ""):
		return usagef("--tls-cert and --tls-key: want both, or neither")
	case p.certFile != "" && len(p.domains) > 0:
		return usagef("found --tls-cert with --acme, want one of them")
	}
	for _, text := range p.proxies {
		network, err := parseNetwork(text)
		if err != nil {
			return usagef("--behind-proxy %q: want an address such as 10.0.0.7, or a network such as 10.0.0.0/24", text)
		}
		p.trusted = append(p.trusted, network)
	}
	if !addr.IP.IsLoopback() && !p.encrypted() && len(p.trusted) == 0 {
		return usagef("--addr %s: tokens and arguments would cross the network in plain text; want --tls-cert FILE with --tls-key FILE, --acme DOMAIN or, if a reverse proxy in front does TLS, --behind-proxy with its address", addr)
	}
	return nil
}

// parseNetwork parses a network, or an address as a network of its own.
func parseNetwork(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// config returns the configuration of TLS, or nil for plain HTTP.
func (p *httpTransport) config(m *Main) (c *tls.Config, err error) {
	switch {
	case p.certFile != "":
		c, err = tlsserver.Files(p.certFile, p.keyFile, m.logger())
	case len(p.domains) > 0:
		var state string
		if state, err = stateDir(m.Getenv); err != nil {
			return nil, err
		}
		directory, _ := m.Getenv(acmeDirectory)
		c, err = tlsserver.ACME(&tlsserver.ACMEOptions{
			Domains: p.domains, Directory: directory, Dir: filepath.Join(state, "certificates"), Logger: m.logger(),
		})
	}
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	return c, nil
}

// baseURL is the root URL of the host, as clients reach it: by a name of the certificate if one
// is known, otherwise as a client on this machine does.
func (p *httpTransport) baseURL(addr net.Addr) string {
	base := baseURL(addr)
	if !p.encrypted() {
		return base
	}
	host := strings.TrimPrefix(base, "http://")
	if len(p.domains) > 0 {
		host = net.JoinHostPort(p.domains[0], fmt.Sprint(addr.(*net.TCPAddr).Port))
	}
	return "https://" + strings.TrimSuffix(host, ":443")
}

// fromProxies returns a handler that refuses requests in plain text of others than the proxies
// and this machine: anybody in the network could otherwise go around the proxies. Readiness
// can be asked for from everywhere.
func (p *httpTransport) fromProxies(next http.Handler) http.Handler {
	if p.encrypted() || len(p.trusted) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != readyPath && r.URL.Path != healthPath && !p.mayConnect(r.RemoteAddr) {
			refuseHTTP(w, r, "requests have to come through the proxy in front of this server", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (p *httpTransport) mayConnect(remote string) bool {
	from, err := netip.ParseAddrPort(remote)
	addr := from.Addr().Unmap().WithZone("")
	return err == nil && (addr.IsLoopback() || slices.ContainsFunc(p.trusted, func(n netip.Prefix) bool { return n.Contains(addr) }))
}
