package sdks

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fondaco/fondaco/bench/internal/micro"
)

func goSDKHandler(tools int) http.Handler {
	s := GoSDK(tools)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
}

func mcpGoHandler(tools int) http.Handler {
	return server.NewStreamableHTTPServer(MCPGo(tools), server.WithStateful(false))
}

func BenchmarkHandler(b *testing.B) {
	micro.Handler(b, "go-sdk", goSDKHandler)
	micro.Handler(b, "mcp-go", mcpGoHandler)
}

func BenchmarkLoopback(b *testing.B) {
	micro.Loopback(b, "go-sdk", goSDKHandler)
	micro.Loopback(b, "mcp-go", mcpGoHandler)
}

// BenchmarkPair measures client and server together, in memory.
func BenchmarkPair(b *testing.B) {
	near, far := mcp.NewInMemoryTransports()
	s, err := GoSDK(0).Connect(b.Context(), far, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	micro.Client(b, "go-sdk", goSDKEcho(b, near))

	c, err := client.NewInProcessClient(MCPGo(0))
	if err != nil {
		b.Fatal(err)
	}
	micro.Client(b, "mcp-go", mcpGoEcho(b, c))
}

// BenchmarkClient measures the client alone.
func BenchmarkClient(b *testing.B) {
	s := micro.NewCanned()
	micro.Client(b, "go-sdk", goSDKEcho(b, &mcp.IOTransport{Reader: io.NopCloser(s), Writer: s}))

	s = micro.NewCanned()
	micro.Client(b, "mcp-go", mcpGoEcho(b, client.NewClient(transport.NewIO(s, s, io.NopCloser(strings.NewReader(""))))))
}

func goSDKEcho(b *testing.B, t mcp.Transport) func() (string, error) {
	c, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil).Connect(b.Context(), t, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return func() (string, error) {
		r, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "echo", Arguments: text{micro.Text}})
		if err != nil {
			return "", err
		}
		return r.Content[0].(*mcp.TextContent).Text, nil
	}
}

func mcpGoEcho(b *testing.B, c *client.Client) func() (string, error) {
	b.Cleanup(func() { c.Close() })
	if err := c.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	var hello mcpgo.InitializeRequest
	hello.Params.ProtocolVersion = mcpgo.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcpgo.Implementation{Name: "bench", Version: "1.0.0"}
	if _, err := c.Initialize(b.Context(), hello); err != nil {
		b.Fatal(err)
	}
	return func() (string, error) {
		var call mcpgo.CallToolRequest
		call.Params.Name, call.Params.Arguments = "echo", text{micro.Text}
		r, err := c.CallTool(context.Background(), call)
		if err != nil {
			return "", err
		}
		return r.Content[0].(mcpgo.TextContent).Text, nil
	}
}
