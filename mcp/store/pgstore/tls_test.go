package pgstore_test

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp/store/pgstore"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	server, authorities := testengine.PostgresTLS(t)
	t.Run("certificate of a known authority", func(t *testing.T) {
		s := open(t, server.URL, &pgstore.Options{TLS: &tls.Config{RootCAs: authorities}}) // whose sslmode is disable
		put(t, s, "a", "1", 0)
		awaitMessage(t, s, "a", receiver(t, s, "a"))
		if n := count(t, strings.Replace(server.URL, "disable", "require", 1), `SELECT FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE backend_type = 'client backend' AND NOT ssl`); n != 0 {
			t.Errorf("got %d connections without TLS, want none", n)
		}
	})
	t.Run("certificate of an unknown authority", func(t *testing.T) {
		wantError(t, server.URL, &pgstore.Options{TLS: &tls.Config{RootCAs: x509.NewCertPool()}}, "cannot connect to PostgreSQL", "certificate")
	})
	t.Run("certificate for another name", func(t *testing.T) {
		wantError(t, server.URL, &pgstore.Options{TLS: &tls.Config{RootCAs: authorities, ServerName: "other.test"}}, "cannot connect to PostgreSQL", "other.test")
	})
	t.Run("without TLS", func(t *testing.T) {
		wantError(t, server.URL, nil, "refuses the role", "SQLSTATE 28000")
	})
}
