package doctor

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/host"
)

// network is what the checks of the network have found. One connection is made, which the checks
// hand on: to the server, or through a proxy.
type network struct {
	proxied bool
	addrs   []netip.Addr
	conn    net.Conn // nil before it is made
}

func (n *network) close() {
	if n.conn != nil {
		_ = n.conn.Close()
	}
}

// address returns the URL of the server, nil if it is not reached over HTTP. It is not part of a text, because
// it may have secrets; shownPath is.
func (e *examination) address() *url.URL {
	u, err := url.Parse(e.upstream.Target.String())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	return u
}

// shownPath returns the path of the URL of the server, without a query. Options.Redact removes the secrets of the
// configuration from it.
func (e *examination) shownPath() string { return cmp.Or(e.address().EscapedPath(), "/") }

// hostPort returns the host and the port of a URL.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

const noURL = "the server is not reached over HTTP"

// checkProxy connects through the proxy of the server, if it has one.
func checkProxy(ctx context.Context, e *examination) {
	u := e.address()
	if u == nil {
		e.skip(noURL)
		return
	}
	proxy, err := e.opts.proxy(&http.Request{URL: u, Header: make(http.Header)})
	switch {
	case err != nil:
		e.fail(ProxyInvalid, "export HTTPS_PROXY=http://HOST:PORT", "the value of HTTPS_PROXY or HTTP_PROXY is no URL of a proxy; want one such as http://proxy.example.com:3128")
		return
	case proxy == nil:
		e.skip("no proxy is set for this server")
		return
	}
	e.network.proxied = true
	ctx, cancel := context.WithTimeout(ctx, e.opts.step())
	defer cancel()
	conn, err := e.opts.dial(ctx, hostPort(proxy))
	if err != nil {
		e.fail(ProxyUnreachable, "unset HTTPS_PROXY HTTP_PROXY ALL_PROXY", "the proxy %s does not accept a connection: %v", hostPort(proxy), reason(err))
		return
	}
	e.network.conn = conn
	if u.Scheme == "http" {
		e.pass("the proxy %s accepts connections", hostPort(proxy))
		return
	}
	status, err := connectThrough(ctx, conn, proxy, hostPort(u))
	switch {
	case err != nil:
		e.fail(ProxyRefused, "", "the proxy %s does not answer a CONNECT for %s: %v", hostPort(proxy), hostPort(u), reason(err))
	case status == http.StatusProxyAuthRequired:
		e.fail(ProxyPassword, "export HTTPS_PROXY=http://USER:PASSWORD@"+hostPort(proxy), "the proxy %s wants a user and a password: it answered HTTP 407", hostPort(proxy))
	case status != http.StatusOK:
		e.fail(ProxyRefused, "export NO_PROXY="+host.ShellQuote(u.Hostname()), "the proxy %s does not connect to %s: it answered HTTP %d", hostPort(proxy), hostPort(u), status)
	default:
		e.pass("the proxy %s connects to %s", hostPort(proxy), hostPort(u))
	}
}

// connectThrough asks a proxy for a tunnel, and returns the status of its answer.
func connectThrough(ctx context.Context, conn net.Conn, proxy *url.URL, target string) (status int, err error) {
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
		defer conn.SetDeadline(time.Time{})
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target, Header: make(http.Header)}
	if proxy.User != nil {
		password, _ := proxy.User.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(proxy.User.Username()+":"+password)))
	}
	if err := req.Write(conn); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return 0, err
	}
	_ = resp.Body.Close()
	return resp.StatusCode, nil
}

// checkDNS resolves the name of the server.
func checkDNS(ctx context.Context, e *examination) {
	u := e.address()
	switch {
	case u == nil:
		e.skip(noURL)
		return
	case e.network.proxied:
		e.skip("the proxy resolves the name")
		return
	}
	name := u.Hostname()
	if addr, err := netip.ParseAddr(name); err == nil {
		e.network.addrs = []netip.Addr{addr}
		e.skip("%s is an address", name)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.opts.step())
	defer cancel()
	addrs, err := e.opts.lookup(ctx, name)
	unknown, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case isDNS && unknown.IsNotFound, err == nil && len(addrs) == 0:
		e.fail(DNSUnknown, e.showConfigCommand(), "no DNS server knows the host %s: correct the URL, or connect to the network (VPN) that has the host", name)
	case isDNS && unknown.IsTimeout, errors.Is(err, context.DeadlineExceeded):
		e.fail(DNSTimeout, "", "no DNS server answered for %s within %v: is this machine connected to a network?", name, e.opts.step())
	case err != nil:
		e.fail(DNSFailed, "", "the host %s cannot be resolved: %v", name, reason(err))
	default:
		e.network.addrs = addrs
		e.pass("%s is %s", name, joinAddrs(addrs))
	}
}

func joinAddrs(addrs []netip.Addr) string {
	var shown []string
	for _, a := range addrs[:min(len(addrs), 3)] {
		shown = append(shown, a.Unmap().String())
	}
	if more := len(addrs) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}

// checkTCP connects to the server.
func checkTCP(ctx context.Context, e *examination) {
	u := e.address()
	switch {
	case u == nil:
		e.skip(noURL)
		return
	case e.network.proxied:
		e.skip("the proxy makes the connection")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.opts.step())
	defer cancel()
	_, port, _ := net.SplitHostPort(hostPort(u))
	var err error
	for _, addr := range e.network.addrs {
		e.network.conn, err = e.opts.dial(ctx, net.JoinHostPort(addr.String(), port))
		if err == nil {
			e.pass("%s accepts connections", e.network.conn.RemoteAddr())
			return
		}
		e.network.conn = nil
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(err.Error(), "refused"):
		e.fail(TCPRefused, e.startCommand(u), "nothing listens at %s: the connection was refused; start the server there, or correct the host and port of the URL", hostPort(u))
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		e.fail(TCPTimeout, "", "%s did not answer within %v: the host is off, or a firewall drops the connection", hostPort(u), e.opts.step())
	default:
		e.fail(TCPFailed, "", "no connection to %s: %v", hostPort(u), reason(err))
	}
}

// defaultHostPort is the port at which a host of this user listens by default.
const defaultHostPort = "7332"

// startCommand is the command that starts what should listen at a URL of this machine; empty if that is
// not known.
func (e *examination) startCommand(u *url.URL) string {
	if u.Port() == defaultHostPort && slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, u.Hostname()) {
		return e.opts.command("up")
	}
	return ""
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// expiryWarning is how long before its end a certificate is reported.
const expiryWarning = 14 * 24 * time.Hour

// checkTLS makes the handshake, and verifies the certificate.
func checkTLS(ctx context.Context, e *examination) {
	u := e.address()
	switch {
	case u == nil:
		e.skip(noURL)
		return
	case u.Scheme != "https":
		e.skip("the URL is one without TLS")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.opts.step())
	defer cancel()
	conn := tls.Client(e.network.conn, &tls.Config{ServerName: u.Hostname(), RootCAs: e.opts.RootCAs, MinVersion: tls.VersionTLS12})
	if err := conn.HandshakeContext(ctx); err != nil {
		e.tlsFault(u, err)
		return
	}
	s := conn.ConnectionState()
	expires := s.PeerCertificates[0].NotAfter
	if time.Until(expires) < expiryWarning {
		e.warn(TLSExpires, "", "the certificate of %s expires on %s; its operator has to renew it", hostPort(u), expires.UTC().Format(time.DateOnly))
		return
	}
	e.pass("%s, certificate until %s", tls.VersionName(s.Version), expires.UTC().Format(time.DateOnly))
}

// tlsFault reports why the handshake has failed.
func (e *examination) tlsFault(u *url.URL, err error) {
	unknown, isUnknown := errors.AsType[x509.UnknownAuthorityError](err)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	wrong, isWrong := errors.AsType[x509.HostnameError](err)
	_, isPlain := errors.AsType[tls.RecordHeaderError](err)
	at := hostPort(u)
	switch {
	case isPlain:
		plain := *u
		plain.Scheme = "http"
		e.fail(TLSPlain, e.opts.command("doctor", plain.String()), "%s does not speak TLS, and the URL begins with https; use http, if the server is on this machine", at)
	case isInvalid && invalid.Reason == x509.Expired:
		if c := invalid.Cert; time.Now().Before(c.NotBefore) {
			e.fail(TLSExpired, "date -u", "the certificate of %s is not valid before %s: set the clock of this machine, or ask the operator", at, c.NotBefore.UTC().Format(time.DateTime))
			return
		}
		e.fail(TLSExpired, "", "the certificate of %s has expired on %s; its operator has to renew it", at, invalid.Cert.NotAfter.UTC().Format(time.DateOnly))
	case isWrong:
		e.fail(TLSName, "", "the certificate of %s is one for %s; use one of these names in the URL, or ask the operator", at, cmp.Or(strings.Join(wrong.Certificate.DNSNames, ", "), "no name"))
	case isUnknown:
		issuer := "an authority"
		if unknown.Cert != nil {
			issuer = fmt.Sprintf("%q", unknown.Cert.Issuer.String())
		}
		e.fail(TLSAuthority, "SSL_CERT_FILE=CA.pem "+e.doctorCommand(), "the certificate of %s is issued by %s, which this machine does not trust; give it the certificate of that authority if it is yours", at, issuer)
	default:
		e.fail(TLSFailed, "", "no TLS connection to %s: %v", at, reason(err))
	}
}

// reason returns what an error of package net says, without the operation and the addresses.
func reason(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New(dns.Err)
	}
	return err
}
