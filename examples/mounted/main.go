// Command mounted is an application with a chi router and JWTs of its own, in which an MCP
// server is mounted beside the other routes.
package main

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/golang-jwt/jwt/v5"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// claims are what the application's JWTs say.
type claims struct {
	jwt.RegisteredClaims
	Team   string `json:"team"`
	Scopes string `json:"scope"`
}

// app is the application that existed before.
type app struct{ key []byte }

// user returns the claims of the JWT of a request, for the routes of the application and for
// MCP alike.
func (a *app) user(r *http.Request) (*claims, error) {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return nil, nil
	}
	c := new(claims)
	_, err := jwt.ParseWithClaims(text, c, func(*jwt.Token) (any, error) { return a.key, nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithAudience("app"), jwt.WithExpirationRequired())
	return c, err
}

// identify says who sends a request to the MCP server.
func (a *app) identify(r *http.Request) (*mcp.Identity, error) {
	c, err := a.user(r)
	if c == nil || err != nil {
		return nil, err
	}
	all, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return &mcp.Identity{
		Principal: mcp.Principal{Issuer: "app", Subject: c.Subject},
		Scopes:    strings.Fields(c.Scopes),
		Expires:   c.ExpiresAt.Time,
		Claims:    all,
	}, nil
}

// token returns a JWT as the application's sign-in page does.
func (a *app) token(user, team, scopes string, lifetime time.Duration) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: user, Audience: jwt.ClaimStrings{"app"}, ExpiresAt: jwt.NewNumericDate(time.Now().Add(lifetime)),
		},
		Team: team, Scopes: scopes,
	}).SignedString(a.key)
}

// newServer returns the MCP server. Its tools know the user.
func newServer(o *mcpserver.HTTPOptions) *mcpserver.Server {
	srv := mcpserver.New("app", "1.0.0", &mcpserver.Options{HTTP: o})
	srv.Tool("whoami", "The name of the user", func(ctx context.Context, _ struct{}) (string, error) {
		return mcpserver.From(ctx).Principal().Subject, nil
	}, mcpserver.ReadOnly())
	srv.Tool("publish", "Publishes the report", func(ctx context.Context, _ struct{}) (string, error) {
		mcpserver.Logger(ctx).Info("published")
		return "published", nil
	}, mcpserver.Scopes("reports:publish"))
	srv.Tool("roster", "The roster of the red team", func(context.Context, struct{}) (string, error) {
		return "Ada, Grace", nil
	}, mcpserver.Visible(ofTeam("red")), mcpserver.ReadOnly())
	return srv
}

// ofTeam reports whether a user is in a team, by the claims.
func ofTeam(team string) func(*mcp.Identity) bool {
	return func(who *mcp.Identity) bool {
		var c claims
		return json.Unmarshal(who.Claims, &c) == nil && c.Team == team
	}
}

// router returns the routes of the application, with the MCP server at /mcp.
func router(a *app, srv *mcpserver.Server) http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.RequestID)
	r.Get("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the application") })
	r.With(mcpauth.Authenticate(a.identify)).Handle("/mcp", srv.HTTPHandler())
	return r
}

func run(ctx context.Context, addr string) error {
	key := os.Getenv("APP_KEY")
	if len(key) < 32 {
		return errors.New("APP_KEY: want the key of the JWTs, of at least 32 bytes")
	}
	a := &app{key: []byte(key)}
	srv := newServer(nil)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	token, err := a.token("ada", "red", "reports:publish", time.Hour)
	if err != nil {
		return err
	}
	fmt.Printf("endpoint http://%s/mcp\nAuthorization: Bearer %s\n", l.Addr(), token)
	return srv.ServeListener(ctx, l, router(a, srv))
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, "127.0.0.1:8080"); err != nil {
		log.Fatal(err)
	}
}
