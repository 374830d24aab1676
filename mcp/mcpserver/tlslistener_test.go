package mcpserver_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// TestTLSListenerServesClientCertificatesAndHTTP2 connects through a tls.Listener. Each
// connection is closed, so that a place that is not given back exceeds MaxConns.
func TestTLSListenerServesClientCertificatesAndHTTP2(t *testing.T) {
	t.Parallel()
	source := httptest.NewUnstartedServer(nil)
	source.StartTLS()
	defer source.Close()
	certificate, roots := source.TLS.Certificates[0], x509.NewCertPool()
	roots.AddCert(source.Certificate())
	for _, protocols := range [][]string{nil, {"http/1.1"}, {"h2", "http/1.1"}} {
		t.Run(fmt.Sprint(protocols), func(t *testing.T) {
			t.Parallel()
			l := newPipes()
			srv := newServer(&mcpserver.Options{HTTP: &mcpserver.HTTPOptions{MaxConns: 2}})
			srv.Tool("echo", "", func(context.Context, struct{}) (string, error) { return "done", nil })
			mux := http.NewServeMux()
			mux.Handle("/mcp", srv.HTTPHandler())
			mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
				if r.TLS == nil || len(r.TLS.PeerCertificates) != 1 {
					http.Error(w, "no client certificate", http.StatusForbidden)
					return
				}
				fmt.Fprint(w, r.Proto)
			})
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() {
				served <- srv.ServeListener(ctx, tls.NewListener(l, &tls.Config{
					Certificates: []tls.Certificate{certificate}, NextProtos: protocols, ClientAuth: tls.RequireAnyClientCert,
				}), mux)
			}()
			defer func() {
				stop()
				if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}()
			want := "HTTP/1.1"
			if len(protocols) == 2 {
				want = "HTTP/2.0"
			}
			for range 5 {
				transport := &http.Transport{DialContext: l.dial, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
					RootCAs: roots, Certificates: []tls.Certificate{certificate}, ServerName: "example.com",
				}}
				client := &http.Client{Transport: transport, Timeout: 3 * time.Minute}
				response, err := client.Get("https://example.com/")
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err != nil || string(body) != want {
					t.Errorf("got %q and %v, want %s", body, err, want)
				}
				c, err := mcpclient.Connect(ctx, mcpclient.URL("https://example.com/mcp"), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Client: client}})
				if err != nil {
					t.Fatal(err)
				}
				if text, err := c.Call[string](ctx, "echo", nil); err != nil || text != "done" {
					t.Errorf("got %q and %v, want the call done", text, err)
				}
				c.Close()
				transport.CloseIdleConnections()
			}
		})
	}
}
