// Mounted is an application with a router and JWTs, in which an MCP server is mounted. Several
// replicas of it serve one client.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"slices"

	"github.com/go-chi/chi/v5"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fondaco/fondaco/examples/compared/app/accounts"
)

func say(s string) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}, nil, nil
}

func whoami(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	return say(req.Extra.TokenInfo.UserID)
}

func publish(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	user := req.Extra.TokenInfo
	if !slices.Contains(user.Scopes, "reports:publish") {
		return nil, nil, errors.New("the token lacks the scope reports:publish")
	}
	given, ok := req.Params.InputResponses["consent"]
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"consent": &mcp.ElicitParams{
			Mode:    "form",
			Message: "Publish it?",
			RequestedSchema: &jsonschema.Schema{
				Type:       "object",
				Properties: map[string]*jsonschema.Schema{"publish": {Type: "boolean", Title: "Publish the report"}},
				Required:   []string{"publish"},
			},
		}}}, nil, nil
	}
	answer, ok := given.(*mcp.ElicitResult)
	if !ok || answer.Action != "accept" {
		return nil, nil, errors.New("the user did not agree")
	}
	if agreed, ok := answer.Content["publish"].(bool); !ok || !agreed {
		return say("Nothing was published.")
	}
	return say("Published by " + user.UserID + ".")
}

func main() {
	app := &accounts.App{Key: []byte(os.Getenv("APP_KEY"))}
	srv := mcp.NewServer(&mcp.Implementation{Name: "mounted", Version: "1.0.0"}, nil)
	mcp.AddTool(srv, &mcp.Tool{
		Name: "whoami", Description: "The name of the user", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, whoami)
	mcp.AddTool(srv, &mcp.Tool{Name: "publish", Description: "Publishes the report"}, publish)
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		u, err := app.Parse(token)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", auth.ErrInvalidToken, err)
		}
		return &auth.TokenInfo{UserID: u.Subject, Scopes: u.Scopes(), Expiration: u.ExpiresAt.Time}, nil
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: true})
	r := chi.NewRouter()
	r.Get("/", app.Home)
	r.With(auth.RequireBearerToken(verify, nil)).Handle("/mcp", handler)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	log.Fatal(http.Serve(l, r))
}
