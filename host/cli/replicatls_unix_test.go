//go:build unix

package cli_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/testengine"
)

func TestHostsReachEachOtherOverTLS(t *testing.T) {
	t.Parallel()
	s := newStoreTest(t, testengine.Redis(t).URL)
	dir, roots := t.TempDir(), x509.NewCertPool()
	writeCertificate(t, dir, "hosts", roots)
	cert := filepath.Join(dir, "cert.pem")
	s.env += fmt.Sprintf(" SSL_CERT_FILE=%q", cert)
	var addrs []string
	env := s.env
	for range 2 {
		free, err := net.Listen("tcp", "127.0.0.1:0") // another program could take the port meanwhile
		if err != nil {
			t.Fatal(err)
		}
		addr := free.Addr().String()
		_ = free.Close()
		s.env = env + " FONDACO_ADVERTISE=https://" + addr
		p := s.run(t, t.TempDir(), fmt.Sprintf("up --yes --addr %s --config %s --tls-cert %s --tls-key %s --auth-tokens %s",
			addr, s.config, cert, filepath.Join(dir, "key.pem"), writeTokens(t)))
		p.stderr.await(t, `(?m)^LISTEN (\S+)$`)
		addrs = append(addrs, addr)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(client.CloseIdleConnections)
	process := ""
	for i, addr := range append(addrs, addrs...) {
		r, err := http.NewRequestWithContext(t.Context(), "POST", "https://"+addr+"/mcp", strings.NewReader(statelessCall))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = withToken(laptopToken)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		status, _, body := doWith(t, client, r)
		if i == 0 {
			process = pidIn(body)
		}
		if got := pidIn(body); got == "" || got != process {
			t.Errorf("request %d: got status %d, body %s, want process %s", i, status, body, process)
		}
	}
}
