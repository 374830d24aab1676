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
	"slices"

	"github.com/go-chi/chi/v5"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/fondaco/fondaco/examples/compared/app/accounts"
)

type userKey struct{}

func userOf(ctx context.Context) *accounts.User { return ctx.Value(userKey{}).(*accounts.User) }

func whoami(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(userOf(ctx).Subject), nil
}

func publish(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	user := userOf(ctx)
	if !slices.Contains(user.Scopes(), "reports:publish") {
		return mcp.NewToolResultError("the token lacks the scope reports:publish"), nil
	}
	answer := server.ElicitationResponse(req.Params.InputResponses, "consent")
	if answer == nil {
		return server.NewInputRequestBuilder("").Elicit("consent", mcp.ElicitationParams{
			Message: "Publish it?",
			RequestedSchema: map[string]any{
				"type":       "object",
				"properties": map[string]any{"publish": map[string]any{"type": "boolean", "title": "Publish the report"}},
				"required":   []string{"publish"},
			},
		}).ToolResult(), nil
	}
	if answer.Action != mcp.ElicitationResponseActionAccept {
		return mcp.NewToolResultError("the user did not agree"), nil
	}
	content, _ := answer.Content.(map[string]any)
	if agreed, ok := content["publish"].(bool); !ok || !agreed {
		return mcp.NewToolResultText("Nothing was published."), nil
	}
	return mcp.NewToolResultText("Published by " + user.Subject + "."), nil
}

func main() {
	app := &accounts.App{Key: []byte(os.Getenv("APP_KEY"))}
	srv := server.NewMCPServer("mounted", "1.0.0", server.WithElicitation())
	srv.AddTool(mcp.NewTool("whoami", mcp.WithDescription("The name of the user"), mcp.WithReadOnlyHintAnnotation(true)), whoami)
	srv.AddTool(mcp.NewTool("publish", mcp.WithDescription("Publishes the report")), publish)
	authenticate := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			u, err := app.User(r)
			if err != nil {
				w.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(w, "unauthorized", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, u)))
		})
	}
	r := chi.NewRouter()
	r.Get("/", app.Home)
	r.With(authenticate).Handle("/mcp", server.NewStreamableHTTPServer(srv, server.WithStateLess(true)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	log.Fatal(http.Serve(l, r))
}
