// Mounted is an application with a router and JWTs, in which an MCP server is mounted. Several
// replicas of it serve one client.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/go-chi/chi/v5"

	"github.com/fondaco/fondaco/examples/compared/app/accounts"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type consent struct {
	Publish bool `json:"publish" title:"Publish the report"`
}

func whoami(ctx context.Context, _ struct{}) (string, error) {
	return mcpserver.From(ctx).Principal().Subject, nil
}

func publish(ctx context.Context, _ struct{}) (string, error) {
	c, err := mcpserver.Ask[consent](ctx, "consent", "Publish it?")
	if err != nil || !c.Publish {
		return "Nothing was published.", err
	}
	return "Published by " + mcpserver.From(ctx).Principal().Subject + ".", nil
}

func main() {
	app := &accounts.App{Key: []byte(os.Getenv("APP_KEY"))}
	srv := mcpserver.New("mounted", "1.0.0", &mcpserver.Options{Keys: []mcpserver.Key{{ID: "1", Secret: app.Key}}})
	srv.Tool("whoami", "The name of the user", whoami, mcpserver.ReadOnly())
	srv.Tool("publish", "Publishes the report", publish, mcpserver.Scopes("reports:publish"))
	identify := func(r *http.Request) (*mcp.Identity, error) {
		u, err := app.User(r)
		if err != nil {
			return nil, err
		}
		who := mcp.Principal{Issuer: "app", Subject: u.Subject}
		return &mcp.Identity{Principal: who, Scopes: u.Scopes(), Expires: u.ExpiresAt.Time}, nil
	}
	r := chi.NewRouter()
	r.Get("/", app.Home)
	r.With(mcpauth.Authenticate(identify)).Handle("/mcp", srv.HTTPHandler())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	log.Fatal(srv.ServeListener(context.Background(), l, r))
}
