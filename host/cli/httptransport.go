package cli

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/fondaco/fondaco/host/httpserver"
	"github.com/fondaco/fondaco/host/storage"
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
		if state, err = storage.Dir(m.Getenv); err != nil {
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
	base := httpserver.BaseURL(addr)
	if !p.encrypted() {
		return base
	}
	host := strings.TrimPrefix(base, "http://")
	if len(p.domains) > 0 {
		host = net.JoinHostPort(p.domains[0], fmt.Sprint(addr.(*net.TCPAddr).Port))
	}
	return "https://" + strings.TrimSuffix(host, ":443")
}

// onlyFrom returns the only other machines that may send requests, in plain text; empty for each machine.
func (p *httpTransport) onlyFrom() []netip.Prefix {
	if p.encrypted() {
		return nil
	}
	return p.trusted
}
