package tlsserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/fondaco/fondaco/host/userfile"
)

// ACMEOptions say where certificates come from.
type ACMEOptions struct {
	// Domains are the names of the server. Certificates are requested for these alone.
	Domains []string
	// Directory is the URL of the directory of the authority. Default: that of Let's Encrypt.
	Directory string
	// Logger gets the errors of requests for certificates.
	Logger *slog.Logger
	// Dir is the directory in which the key of the account, certificates and their keys are
	// kept. It is created, so that only the user can enter it.
	Dir string
}

// ACME returns the configuration of a server that gets its certificates from an authority, by
// the protocol ACME: at the first handshake for a domain, and again before they expire. The
// authority has to reach the server at port 443 of the domain, where it does the challenge
// tls-alpn-01. Using it accepts the terms of service of the authority.
//
// Spec: RFC 8555; RFC 8737
func ACME(o *ACMEOptions) (*tls.Config, error) {
	if len(o.Domains) == 0 {
		return nil, errors.New("certificates by ACME: want a domain")
	}
	for _, domain := range o.Domains {
		if net.ParseIP(domain) != nil || domain == "localhost" {
			return nil, fmt.Errorf("certificates by ACME for %q: want a name that other machines can resolve", domain)
		}
	}
	if o.Directory != "" {
		if u, err := url.Parse(o.Directory); err != nil || u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("certificates by ACME: directory %q: want an https URL", o.Directory)
		}
	}
	if err := userfile.MkdirAll(o.Dir); err != nil {
		return nil, fmt.Errorf("certificates by ACME: %w", err)
	}
	m := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(o.Dir),
		HostPolicy: autocert.HostWhitelist(o.Domains...),
		Client:     &acme.Client{DirectoryURL: o.Directory},
	}
	c := config((&issued{manager: m, domains: o.Domains, log: o.Logger}).get)
	c.NextProtos = append(c.NextProtos, acme.ALPNProto)
	return c, nil
}

// reportInterval is the time between two logged errors.
const reportInterval = time.Minute

// issued are the certificates of an authority.
type issued struct {
	manager *autocert.Manager
	domains []string
	log     *slog.Logger

	mu       sync.Mutex
	reported time.Time // guarded by mu
}

// get returns the certificate for a handshake. It logs why there is none, unless the client is
// the reason.
func (i *issued) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	certificate, err := i.manager.GetCertificate(hello)
	challenge := slices.Contains(hello.SupportedProtos, acme.ALPNProto)
	if err != nil && !challenge && slices.Contains(i.domains, hello.ServerName) && i.mayReport() {
		i.log.Warn("certificates by ACME: the authority has issued none; it has to reach this host at port 443 of the domain", "domain", hello.ServerName, "error", err)
	}
	return certificate, err
}

func (i *issued) mayReport() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if now := time.Now(); now.Sub(i.reported) >= reportInterval {
		i.reported = now
		return true
	}
	return false
}
