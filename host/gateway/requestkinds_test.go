package gateway

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// methodsOfTheProtocol returns the methods of the requests in package mcp.
func methodsOfTheProtocol(t *testing.T) (methods []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../mcp/method.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Method") {
			method, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			methods = append(methods, method)
		}
		return true
	})
	return methods
}

func TestEveryRequestThatTheGatewayHandlesHasAKind(t *testing.T) {
	t.Parallel()
	handled := make(map[string]bool)
	for _, method := range methodsOfTheProtocol(t) {
		for _, r := range mcp.Revisions() {
			synctest.Test(t, func(t *testing.T) {
				quiet := slog.New(slog.DiscardHandler)
				g := New(nil, &Options{Logger: quiet})
				t.Cleanup(g.Close)
				g.Start(t.Context())
				c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(mcptest.Dial(t, g.Server())), &mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{r}})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := c.Request(ctx, method, struct{}{}, nil); mcp.CodeOf(err) != mcp.CodeMethodNotFound {
					handled[method] = true
				}
			})
		}
	}
	for method := range handled {
		if _, ok := requestKinds[method]; !ok {
			t.Errorf("%s: handled, want it in requestKinds", method)
		}
	}
	for method := range requestKinds {
		if !handled[method] {
			t.Errorf("%s: in requestKinds, want that the gateway handles it", method)
		}
	}
}
