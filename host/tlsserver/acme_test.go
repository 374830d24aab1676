package tlsserver_test

import (
	"crypto/tls"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/tlsserver"
)

func TestOptionsOfACME(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options tlsserver.ACMEOptions
		want    string
	}{
		"no domain":  {tlsserver.ACMEOptions{}, "want a domain"},
		"an address": {tlsserver.ACMEOptions{Domains: []string{"192.0.2.1"}}, "192.0.2.1"},
		"localhost":  {tlsserver.ACMEOptions{Domains: []string{"localhost"}}, "localhost"},
		"plain HTTP": {tlsserver.ACMEOptions{Domains: []string{"mcp.example.com"}, Directory: "http://acme.example.com/directory"}, "want an https URL"},
	} {
		tt.options.Dir, tt.options.Logger = t.TempDir(), slog.New(slog.DiscardHandler)
		if _, err := tlsserver.ACME(&tt.options); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error that says %q", name, err, tt.want)
		}
	}
}

// TestCertificatesAreRequestedForTheDomainsAlone asks for another name than those of the server.
// The authority does not exist, so a request to it would be logged.
func TestCertificatesAreRequestedForTheDomainsAlone(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	c, err := tlsserver.ACME(&tlsserver.ACMEOptions{
		Domains: []string{"mcp.example.com"}, Directory: "https://127.0.0.1:1/directory", Dir: filepath.Join(t.TempDir(), "certificates"),
		Logger: slog.New(slog.NewTextHandler(&logged, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.MinVersion != tls.VersionTLS12 || !slices.Contains(c.NextProtos, "acme-tls/1") {
		t.Errorf("got version %x, protocols %q", c.MinVersion, c.NextProtos)
	}
	for _, name := range []string{"evil.example", "", "127.0.0.1"} {
		if _, _, _, err := handshake(t, c, &tls.Config{ServerName: name}); err == nil {
			t.Errorf("%q: want no certificate", name)
		}
	}
	if logged.Len() > 0 {
		t.Errorf("got the log %s, want none for names of others", &logged)
	}
	for range 3 {
		if _, _, _, err := handshake(t, c, &tls.Config{ServerName: "mcp.example.com"}); err == nil {
			t.Error("got a certificate, want an error without an authority")
		}
	}
	if n := strings.Count(logged.String(), "port 443 of the domain"); n != 1 {
		t.Errorf("got %d warnings, want one in a minute\n%s", n, &logged)
	}
}
