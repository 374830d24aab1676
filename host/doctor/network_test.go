package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/doctor"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var networkFaults = []fault{
	{
		name: "a proxy that is no URL", id: doctor.ProxyInvalid, text: "no URL of a proxy", fix: "export HTTPS_PROXY",
		make: func(_ *testing.T, u *host.Upstream, o *doctor.Options) {
			u.Target = mcpclient.URL("https://mcp.example/mcp")
			o.Proxy = func(*http.Request) (*url.URL, error) { return nil, errors.New("secret") }
		},
	},
	{
		name: "a proxy that is not there", id: doctor.ProxyUnreachable, text: "does not accept a connection: connect: connection refused", fix: "unset HTTPS_PROXY",
		make: func(_ *testing.T, u *host.Upstream, o *doctor.Options) {
			u.Target = mcpclient.URL("https://mcp.example/mcp")
			useProxy(o, "http://proxy.example:3128")
			o.Dial = refused
		},
	},
	{
		name: "a proxy with a password", id: doctor.ProxyPassword, text: "HTTP 407", fix: "USER:PASSWORD@127.0.0.1:",
		make: proxyAnswering(http.StatusProxyAuthRequired),
	},
	{
		name: "a proxy that refuses the host", id: doctor.ProxyRefused, text: "does not connect to mcp.example:443: it answered HTTP 403", fix: "export NO_PROXY=mcp.example",
		make: proxyAnswering(http.StatusForbidden),
	},
	{
		name: "a proxy that refuses a host whose name has characters of a shell", id: doctor.ProxyRefused, text: "does not connect to mcp.example;id:443", fix: "export NO_PROXY='mcp.example;id'",
		make: func(t *testing.T, u *host.Upstream, o *doctor.Options) {
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
			t.Cleanup(proxy.Close)
			useProxy(o, proxy.URL)
			u.Target = mcpclient.URL("https://mcp.example;id/mcp")
		},
	},
	{
		name: "a name that no server knows", id: doctor.DNSUnknown, text: "knows the host mcp.example", fix: "fondaco config show",
		make: resolving(&net.DNSError{Err: "no such host", Name: "mcp.example", IsNotFound: true}),
	},
	{
		name: "no DNS server", id: doctor.DNSTimeout, text: "no DNS server answered",
		make: resolving(context.DeadlineExceeded),
	},
	{
		name: "a DNS server that fails", id: doctor.DNSFailed, text: "cannot be resolved: server misbehaving",
		make: resolving(&net.DNSError{Err: "server misbehaving", Name: "mcp.example", IsTemporary: true}),
	},
	{
		name: "a closed port", id: doctor.TCPRefused, text: "nothing listens at 127.0.0.1:9:",
		make: func(_ *testing.T, u *host.Upstream, o *doctor.Options) {
			u.Target, o.Dial = mcpclient.URL("http://127.0.0.1:9/mcp"), refused
		},
	},
	{
		name: "the host of this user", id: doctor.TCPRefused, text: "localhost:7332", fix: "fondaco up",
		make: func(_ *testing.T, u *host.Upstream, o *doctor.Options) {
			u.Target = mcpclient.URL("http://localhost:7332/mcp")
			o.Lookup = func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{netip.IPv6Loopback()}, nil }
			o.Dial = refused
		},
	},
	{
		name: "a host that does not answer", id: doctor.TCPTimeout, text: "firewall",
		make: func(_ *testing.T, u *host.Upstream, o *doctor.Options) {
			u.Target, o.Step = mcpclient.URL("http://127.0.0.1:9/mcp"), time.Millisecond
			o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		},
	},
	{
		name: "no network", id: doctor.TCPFailed, text: "no connection to 192.0.2.1:80: network is unreachable",
		make: func(_ *testing.T, u *host.Upstream, o *doctor.Options) {
			u.Target = mcpclient.URL("http://192.0.2.1/mcp")
			o.Dial = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("network is unreachable")}
			}
		},
	},
	{
		name: "a certificate of an unknown authority", id: doctor.TLSAuthority, text: "does not trust", fix: "SSL_CERT_FILE=CA.pem fondaco doctor notes",
		make: func(t *testing.T, u *host.Upstream, o *doctor.Options) {
			serveTLS(t, u, o, time.Hour, "127.0.0.1")
			o.RootCAs = x509.NewCertPool()
		},
	},
	{
		name: "an expired certificate", id: doctor.TLSExpired, text: "has expired on",
		make: func(t *testing.T, u *host.Upstream, o *doctor.Options) { serveTLS(t, u, o, -time.Hour, "127.0.0.1") },
	},
	{
		name: "a certificate of the future", id: doctor.TLSExpired, text: "set the clock", fix: "date -u",
		make: func(t *testing.T, u *host.Upstream, o *doctor.Options) {
			serveTLS(t, u, o, 10*365*24*time.Hour, "127.0.0.1")
		},
	},
	{
		name: "a certificate that ends soon", id: doctor.TLSExpires, text: "expires on", warning: true,
		make: func(t *testing.T, u *host.Upstream, o *doctor.Options) { serveTLS(t, u, o, time.Hour, "127.0.0.1") },
	},
	{
		name: "a certificate of another name", id: doctor.TLSName, text: "is one for other.example",
		make: func(t *testing.T, u *host.Upstream, o *doctor.Options) { serveTLS(t, u, o, time.Hour, "other.example") },
	},
	{
		name: "a server without TLS", id: doctor.TLSPlain, text: "does not speak TLS", fix: "fondaco doctor http://127.0.0.1:",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			s := serve(t, u, http.NotFoundHandler())
			u.Target = mcpclient.URL("https" + s.URL[len("http"):] + "/mcp")
		},
	},
	{
		name: "a server that ends the handshake", id: doctor.TLSFailed, text: "no TLS connection",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_ = conn.Close()
				}
			}()
			t.Cleanup(func() {
				_ = l.Close()
				<-ended
			})
			u.Target = mcpclient.URL("https://" + l.Addr().String() + "/mcp")
		},
	},
}

func useProxy(o *doctor.Options, address string) {
	o.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(address) }
}

// proxyAnswering makes a server behind a proxy that answers CONNECT with a status.
func proxyAnswering(status int) func(*testing.T, *host.Upstream, *doctor.Options) {
	return func(t *testing.T, u *host.Upstream, o *doctor.Options) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, ok := basicProxy(r); r.Method != http.MethodConnect || r.Host != "mcp.example:443" || !ok || user != "u" || password != "p" {
				t.Errorf("got %s %s, %q, want CONNECT with the password of the URL", r.Method, r.Host, r.Header)
			}
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		u.Target = mcpclient.URL("https://mcp.example/mcp")
		useProxy(o, "http://u:p@"+s.Listener.Addr().String())
	}
}

func basicProxy(r *http.Request) (user, password string, ok bool) {
	return (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
}

// resolving makes a server whose name is resolved with an error.
func resolving(err error) func(*testing.T, *host.Upstream, *doctor.Options) {
	return func(_ *testing.T, u *host.Upstream, o *doctor.Options) {
		u.Target = mcpclient.URL("https://mcp.example/mcp")
		o.Lookup = func(context.Context, string) ([]netip.Addr, error) { return nil, err }
	}
}

// refused is the answer of a port at which nothing listens.
func refused(context.Context, string, string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

// serveTLS starts a server with a certificate of its own, which the examination trusts. It ends after the
// time; one that ends in the far future has not begun.
func serveTLS(t *testing.T, u *host.Upstream, o *doctor.Options, ends time.Duration, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(ends)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: end.Add(-5 * 365 * 24 * time.Hour), NotAfter: end,
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if ip := net.ParseIP(name); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{name}
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = quiet
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	o.RootCAs = x509.NewCertPool()
	o.RootCAs.AddCert(c)
	u.Target = mcpclient.URL(s.URL + "/mcp")
}
