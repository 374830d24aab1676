// Protected is a server that requires tokens of an authorization server.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"

	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func newServer() *mcpserver.Server {
	srv := mcpserver.New("reports", "1.0.0", nil)
	srv.Tool("read", "Reads the yearly report", read, mcpserver.ReadOnly())
	srv.Tool("publish", "Publishes the yearly report", publish, mcpserver.Scopes("reports:publish"))
	return srv
}

func read(context.Context, struct{}) (string, error) { return "It was a good year.", nil }

func publish(ctx context.Context, _ struct{}) (string, error) {
	return "Published by " + mcpserver.From(ctx).Principal().Subject + ".", nil
}

// protect returns the server's handler with authorization.
func protect(srv *mcpserver.Server, url, issuer string) http.Handler {
	auth := mcpauth.New(url, mcpauth.Issuer(issuer), mcpauth.RequireScopes("reports:read"))
	mux := http.NewServeMux()
	mux.Handle("/mcp", auth.Protect(srv.HTTPHandler()))
	mux.Handle("/.well-known/oauth-protected-resource", auth.Metadata())
	mux.Handle("/.well-known/oauth-protected-resource/", auth.Metadata())
	return mux
}

func main() {
	addr := flag.String("http", "127.0.0.1:8080", "serve HTTP on this `address`")
	issuer := flag.String("issuer", "http://127.0.0.1:9000", "take the tokens of the authorization server with this `URL`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr, *issuer); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, addr, issuer string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	url := fmt.Sprintf("http://%s/mcp", l.Addr())
	fmt.Println(url)
	srv := newServer()
	return srv.ServeListener(ctx, l, protect(srv, url, issuer))
}
