//go:build unix

package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// writeCertificate writes a certificate of 127.0.0.1 and its key, and adds it to roots.
func writeCertificate(t *testing.T, dir, name string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(certificate)
	for file, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret}} {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path+".new", pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCertificateIsReplacedWithoutLosingAConnection(t *testing.T) {
	t.Parallel()
	dir, roots := t.TempDir(), x509.NewCertPool()
	writeCertificate(t, dir, "first", roots)
	writeCertificate(t, t.TempDir(), "unused", roots)
	plain, words, _ := guarded(t, `{"mcpServers": {}}`, "--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem"), "--auth-tokens", tokenFile(t))
	url := strings.Replace(plain, "http:", "https:", 1)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(url), &mcpclient.Options{
		HTTP:      mcpclient.HTTPOptions{Client: &http.Client{Transport: transport}, Header: http.Header{"Authorization": {"Bearer " + canaryA}}},
		Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, words.String())
	}
	defer c.Close()

	address := strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/mcp")
	for _, want := range []string{"first", "second"} {
		if want == "second" {
			writeCertificate(t, dir, want, roots)
		}
		for until := time.Now().Add(maxWait); ; time.Sleep(50 * time.Millisecond) { // the files are checked once a second
			conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots})
			if err != nil {
				t.Fatal(err)
			}
			got := conn.ConnectionState()
			conn.Close()
			if got.PeerCertificates[0].Subject.CommonName == want {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("got the certificate %q, want %q", got.PeerCertificates[0].Subject.CommonName, want)
			}
		}
		if err := c.Ping(t.Context()); err != nil {
			t.Errorf("%s certificate: %v, want the open connection kept", want, err)
		}
	}

	if resp, err := http.Get(plain); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("plain HTTP: got %v and %v, want 400", resp, err)
	} else {
		resp.Body.Close()
	}
	if conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11}); err == nil {
		conn.Close()
		t.Error("got a connection of TLS 1.1, want it refused")
	}
	if text := words.String(); !strings.Contains(text, "endpoint   https://") || strings.Contains(text, "http://") {
		t.Errorf("got %s, want https URLs alone", text)
	}
}

func TestPlainTextOnTheNetworkNeedsAProxy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeCertificate(t, dir, "good", x509.NewCertPool())
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	readable := filepath.Join(dir, "readable.pem")
	if err := os.Symlink(key, filepath.Join(dir, "link.pem")); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(readable, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(readable, 0o644); err != nil {
		t.Fatal(err)
	}
	tokens := tokenFile(t)
	for flags, want := range map[string]string{
		"--addr 0.0.0.0:0 --insecure-no-auth":                         "in plain text",
		"--addr [::]:0 --auth-tokens " + tokens:                       "--behind-proxy with its address",
		"--addr 0.0.0.0:0 --behind-proxy 10.0.0.1":                    "without authentication",
		"--behind-proxy proxy.example":                                "want an address such as",
		"--tls-cert " + cert:                                          "want both",
		"--tls-key " + key:                                            "want both",
		"--tls-cert " + cert + " --tls-key " + key + " --acme a.test": "want one of them",
		"--tls-cert " + cert + " --tls-key " + readable:               "readable.pem",
		"--tls-cert " + key + " --tls-key " + key:                     "TLS certificate",
		"--tls-cert /nowhere --tls-key /nowhere":                      "/nowhere",
		"--acme a.test":                                               "want an https URL",
		"--acme 192.0.2.1":                                            "192.0.2.1",
	} {
		_, stderr, code := session{env: []string{"HOME=" + t.TempDir(), "FONDACO_ACME_DIRECTORY=http://acme.test"}}.run(t.Context(), append([]string{"up", "--addr", "127.0.0.1:0"}, splitWords(flags)...)...)
		if code != 2 || !strings.Contains(stderr, want) || strings.Contains(stderr, "LISTEN") || strings.Contains(stderr, "PRIVATE") {
			t.Errorf("%s: got %s, %d, want %q and 2", flags, stderr, code, want)
		}
	}
}
