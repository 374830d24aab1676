package fromgosdk_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/x/fromgosdk"
	"github.com/fondaco/fondaco/x/internal/mirror/mirrortest"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A whole server of go-sdk is served in every revision.
func ExampleNewServer() {
	other := gosdk.NewServer(&gosdk.Implementation{Name: "notes", Version: "2.1.0"}, nil)
	gosdk.AddTool(other, &gosdk.Tool{Name: "echo"}, echo)
	server, err := fromgosdk.NewServer(other, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(server.Info().Name, callEcho(server))
	// Output: notes {"text":"hello"}
}

// One tool of go-sdk is served beside tools of this SDK.
func ExampleTool() {
	server := mcpserver.New("notes", "3.0.0", nil)
	fromgosdk.Tool(server, &gosdk.Tool{Name: "echo", Description: "Returns a text"}, echo, mcpserver.ReadOnly())
	fmt.Println(callEcho(server))
	// Output: {"text":"hello"}
}

func callEcho(server *mcpserver.Server) string {
	c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(server), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	return mirrortest.Said(c.CallTool(context.Background(), "echo", map[string]string{"text": "hello"}))
}

func TestHandlersSeeTheIdentityAndTheHeaderOfTheirClient(t *testing.T) {
	other := newOther(nil)
	gosdk.AddTool(other, &gosdk.Tool{Name: "who"}, func(_ context.Context, r *gosdk.CallToolRequest, _ struct{}) (*gosdk.CallToolResult, any, error) {
		said := "nobody"
		if token := r.Extra.TokenInfo; token != nil {
			said = fmt.Sprint(token.UserID, token.Scopes)
		}
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: said + " " + r.Extra.Header.Get("X-Team")}}}, nil, nil
	})
	inner := mounted(t, other).HTTPHandler()
	url := mcptest.HTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Team", "red")
		who := &mcp.Identity{Principal: mcp.Principal{Issuer: "https://id.example.com", Subject: "ada"}, Scopes: []string{"read"}}
		inner.ServeHTTP(w, r.WithContext(mcp.WithIdentity(r.Context(), who)))
	}))
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		c := mcptest.Connect(t, mcpclient.URL(url), &mcpclient.Options{Revisions: []mcp.Revision{v}})
		if got, want := mirrortest.Said(c.CallTool(t.Context(), "who", nil)), "ada[read] red"; got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
}
