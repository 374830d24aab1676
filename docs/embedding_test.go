package docs_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// shop is the application of embedding.md.
type shop struct {
	byUser map[string][]string
	keys   map[string]string // users, by their API keys
}

func (s *shop) userOf(r *http.Request) (user string, ok bool) {
	user, ok = s.keys[r.Header.Get("X-Api-Key")]
	return user, ok
}

func (s *shop) orders(ctx context.Context, _ struct{}) ([]string, error) {
	return s.byUser[mcpserver.From(ctx).Principal().Subject], nil
}

func newServer(shop *shop, name string) *mcpserver.Server {
	srv := mcpserver.New("shop", "1.0.0", &mcpserver.Options{HTTP: &mcpserver.HTTPOptions{AllowedHosts: []string{name}}})
	srv.Tool("orders", "Lists the orders of the user", shop.orders, mcpserver.ReadOnly(), mcpserver.ClosedWorld())
	return srv
}

func routes(site http.Handler, srv *mcpserver.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", site)
	mux.Handle("/mcp", srv.HTTPHandler())
	mux.Handle("/readyz", srv.ReadyHandler())
	return mux
}

// handlers returns the routes without users, and the handler with users.
func handlers(shop *shop, srv *mcpserver.Server) (open, authenticated http.Handler) {
	protected := mcpauth.Authenticate(func(r *http.Request) (*mcp.Identity, error) {
		user, ok := shop.userOf(r)
		if !ok {
			return nil, nil
		}
		return &mcp.Identity{Principal: mcp.Principal{Issuer: "shop", Subject: user}}, nil
	})
	return routes(http.NotFoundHandler(), srv), protected(srv.HTTPHandler())
}

func serve(ctx context.Context, l net.Listener, h http.Handler, srv *mcpserver.Server) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(srv.Shutdown(ctx), server.Shutdown(ctx))
}

func TestToolsOfAnApplicationKnowTheUser(t *testing.T) {
	t.Parallel()
	s := &shop{byUser: map[string][]string{"ada": {"pears"}}, keys: map[string]string{"key of ada": "ada"}}
	_, h := handlers(s, newServer(s, "shop.example.com"))
	url := mcpclient.URL(mcptest.HTTP(t, h))
	c := mcptest.Connect(t, url, &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Header: http.Header{"X-Api-Key": {"key of ada"}}}})
	if got, err := c.Call[[]string](t.Context(), "orders", nil); err != nil || !slices.Equal(got, []string{"pears"}) {
		t.Errorf("got %q, %v, want the order of ada", got, err)
	}
	if c, err := mcpclient.Connect(t.Context(), url, nil); err == nil {
		_ = c.Close()
		t.Error("without a key: got a connection, want 401")
	}
}

func TestApplicationShutsDownWithOpenSubscriptions(t *testing.T) {
	t.Parallel()
	s := new(shop)
	srv := newServer(s, "shop.example.com")
	srv.Resource("shop://open", "Opening hours", "text/plain", func(context.Context) ([]byte, error) { return []byte("always"), nil })
	open, _ := handlers(s, srv)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, open, srv) }()

	ready, err := http.Get("http://" + l.Addr().String() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, ready.Body)
	_ = ready.Body.Close()
	if ready.StatusCode != http.StatusOK {
		t.Errorf("readyz: got %s, want 200", ready.Status)
	}
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL("http://"+l.Addr().String()+"/mcp"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for uri, err := range c.Watch(t.Context(), "shop://open") {
		if err != nil {
			t.Fatal(err)
		}
		if uri == "" {
			t.Error("got no URI")
		}
		stop() // while the subscription is open
		if err := <-ended; err != nil {
			t.Errorf("got %v, want a shutdown in time", err)
		}
		break
	}
}
