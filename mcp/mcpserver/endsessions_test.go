package mcpserver_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestEndSessionsEndsThoseThatMatchAndNoOthers(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	started := make(chan string, 2)
	srv.Tool("hold", "", func(ctx context.Context, _ struct{}) (string, error) {
		r := mcpserver.From(ctx)
		started <- r.Principal().Subject
		<-ctx.Done()
		return "", ctx.Err()
	})
	srv.Tool("who", "", func(ctx context.Context, _ struct{}) (string, error) {
		return mcpserver.From(ctx).Principal().Subject, nil
	})
	inner := srv.HTTPHandler()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := &mcp.Identity{Principal: mcp.Principal{Issuer: "test", Subject: r.Header.Get("User")}}
		inner.ServeHTTP(w, r.WithContext(mcp.WithIdentity(r.Context(), who)))
	}))
	defer web.Close()
	defer func() { _ = srv.Shutdown(t.Context()) }()
	connect := func(user, program string) *mcpclient.Client {
		t.Helper()
		c, err := mcpclient.Connect(t.Context(), mcpclient.URL(web.URL), &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20251125}, Info: mcp.Implementation{Name: program, Version: "1"}, Logger: slog.New(slog.DiscardHandler),
			HTTP: mcpclient.HTTPOptions{Header: http.Header{"User": {user}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	ada, bob := connect("ada", "editor"), connect("bob", "terminal")
	held := make(chan error, 1)
	go func() {
		_, err := ada.Call[string](t.Context(), "hold", nil)
		held <- err
	}()
	<-started
	var asked []string
	ended := srv.EndSessions(func(p mcp.Principal, client *mcp.Implementation) bool {
		asked = append(asked, p.Subject+" "+client.Name)
		return p.Subject == "ada"
	})
	if ended != 1 || len(asked) != 2 {
		t.Errorf("got %d ended of %q, want 1 of 2", ended, asked)
	}
	if err := <-held; err == nil {
		t.Error("the running call has succeeded")
	}
	if got, err := bob.Call[string](t.Context(), "who", nil); got != "bob" || err != nil {
		t.Errorf("got %q, %v of the other session", got, err)
	}
	if n := srv.EndSessions(func(_ mcp.Principal, client *mcp.Implementation) bool { return client.Name == "terminal" }); n != 1 {
		t.Errorf("got %d sessions of the other program, want 1", n)
	}
}

func TestEndSessionsClosesConnections(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- srv.ServeStream(t.Context(), theirs) }()
	c, err := mcpclient.Connect(t.Context(), mcpclient.Stream(ours), &mcpclient.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	n := srv.EndSessions(func(p mcp.Principal, client *mcp.Implementation) bool {
		return p == mcp.PrincipalLocal && client == nil
	})
	if n != 1 {
		t.Errorf("got %d, want the connection of the stateless era", n)
	}
	<-served
}
