package gateway_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// serveTools is a server of 2025-11-25 whose list of tools has the given pages. The cursor of a
// page is its number.
func serveTools(pages ...string) serverFunc {
	return func(ctx context.Context, conn mcp.Conn) error {
		return serveRaw(ctx, conn, func(_ rawConn, m rawMessage) string {
			if m.Method != mcp.MethodToolsList {
				return ""
			}
			i := 0
			_, _ = fmt.Sscanf(string(m.Params), `{"cursor":"%d"`, &i)
			next := ""
			if i+1 < len(pages) {
				next = fmt.Sprintf(`,"nextCursor":"%d"`, i+1)
			}
			return `"result":{"tools":[` + pages[i] + `]` + next + `}`
		})
	}
}

// rawTool is the definition of a tool with a description of that many bytes, and more members.
func rawTool(name string, size int, more string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"},"description":"%s"%s}`, name, strings.Repeat("x", size), more)
}

// listed starts a gateway to a hostile server before a good one, and returns the tools that a
// client sees and what of the hostile server is left out.
func listed(t *testing.T, hostile serverFunc) (tools, omitted []string) {
	good := newServer("good")
	good.Tool("greet", "Greet", greet)
	g := start(t, host.Upstream{Key: "big", Target: mcpclient.InProcess(hostile)}, upstream("good", good))
	return toolNames(t, mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})), g.Status()[0].Omitted
}

func TestFeaturesThatAreTooLargeAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	icon := `{"src":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 120<<10)...)) + `"}`
	for _, tt := range []struct {
		what, tool, reason string
		listed             bool
	}{
		{"the longest text", rawTool("t", 64<<10, ""), "", true},
		{"a longer text", rawTool("t", 64<<10+1, ""), `tool "t" is left out: a text of 65537 bytes; the limit is 65536`, false},
		{"a long text in a schema", `{"name":"t","inputSchema":{"type":"object","description":"` + strings.Repeat("x", 65<<10) + `"}}`, `tool "t" is left out: a text of`, false},
		{"a long name of a member", `{"name":"t","inputSchema":{"type":"object","properties":{"` + strings.Repeat("x", 65<<10) + `":{}}}}`, `tool "t" is left out: a text of`, false},
		{"many texts", `{"name":"t","inputSchema":{"type":"object","enum":["` + strings.Repeat(strings.Repeat("x", 1000)+`","`, 300) + `"]}}`, `bytes; the limit of one feature is 262144`, false},
		{"a large icon", rawTool("t", 10, `,"icons":[`+icon+`]`), "", true},
		{"large icons", rawTool("t", 10, `,"icons":[`+icon+`,`+icon+`]`), `tool "t" is left out: its icons`, true},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tools, omitted := listed(t, serveTools(tt.tool))
				want := []string{"big__t", "good__greet"}
				if !tt.listed {
					want = want[1:]
				}
				if !slices.Equal(tools, want) {
					t.Errorf("got %q, want %q", tools, want)
				}
				if (tt.reason == "") != (len(omitted) == 0) || !strings.Contains(strings.Join(omitted, "\n"), tt.reason) {
					t.Errorf("got %.300q, want %q", omitted, tt.reason)
				}
			})
		})
	}
}

func TestCatalogOfAnUpstreamIsLimitedInBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pages []string
		for i := range 50 { // of 1 MiB
			var page []string
			for j := range 18 {
				page = append(page, rawTool(fmt.Sprintf("t%d-%d", i, j), 60_000, ""))
			}
			pages = append(pages, strings.Join(page, ","))
		}
		tools, omitted := listed(t, serveTools(pages...))
		if n := len(tools); n < 130 || n > 140 || !slices.Contains(tools, "good__greet") {
			t.Errorf("got %d tools, want the first 8 MiB and those of the other server", n)
		}
		if n := len(omitted); n != 105 {
			t.Errorf("got %d texts, want one for each list, 100 for tools and a count", n)
		}
		for _, want := range []string{"features of the server together have more than", "the rest is left out", " more"} {
			if !strings.Contains(strings.Join(omitted, "\n"), want) {
				t.Errorf("got %.500q, want %q in it", omitted, want)
			}
		}
	})
}

func TestTextsAboutOmittedFeaturesAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all []string
		for i := range 200 {
			all = append(all, rawTool(fmt.Sprintf("%d%s", i, strings.Repeat("\u202e", 5000)), 70_000, ""))
		}
		tools, omitted := listed(t, serveTools(strings.Join(all[:100], ","), strings.Join(all[100:], ",")))
		if !slices.Equal(tools, []string{"good__greet"}) {
			t.Errorf("got %q", tools)
		}
		if len(omitted) != 101 || omitted[100] != "100 more" || len(omitted[0]) > 600 {
			t.Errorf("got %d texts, the first of %d bytes, want 100 short ones and a count", len(omitted), len(omitted[0]))
		}
	})
}

// serveLargeErrors is a server of 2025-11-25 that fails with texts of 9 MiB, or requires a visit
// at a URL of 6 MiB.
func serveLargeErrors(ctx context.Context, conn mcp.Conn) error {
	return serveRaw(ctx, conn, func(_ rawConn, m rawMessage) string {
		switch {
		case m.Method == mcp.MethodToolsList:
			return `"result":{"tools":[` + rawTool("fail", 1, "") + `,` + rawTool("enter", 1, "") + `]}`
		case m.Method != mcp.MethodToolsCall:
			return ""
		case strings.Contains(string(m.Params), `"enter"`):
			return `"error":{"code":-32042,"message":"sign in","data":{"elicitations":[{"mode":"url","elicitationId":"id-1","message":"m","url":"https://example.com/` + strings.Repeat("x", 6<<20) + `"}]}}`
		}
		return `"error":{"code":-32603,"message":"` + strings.Repeat("x", 9<<20) + `","data":"` + strings.Repeat("x", 1<<20) + `"}`
	})
}

func TestErrorsOfAnUpstreamAreCut(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{"fail": "xxx", "enter": "the limit is 16384"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				seen := new(decisions)
				g := gateway.New([]host.Upstream{{Key: "a", Target: mcpclient.InProcess(serverFunc(serveLargeErrors))}}, &gateway.Options{Logger: quiet, OnDecision: seen.add})
				defer g.Close()
				g.Start(t.Context())
				c := mcptest.Connect(t, g.Server(), &mcpclient.Options{
					Logger: quiet, Revisions: []mcp.Revision{mcp.V20251125},
					ElicitURL: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
					},
				})
				for range 4 {
					result, err := c.CallTool(t.Context(), "a__"+tool, nil)
					text := fmt.Sprint(err)
					if err == nil {
						text = result.Content.Text()
					}
					if !strings.Contains(text, want) || len(text) > 65<<10 {
						t.Errorf("got %.100s and %d bytes, want %q and at most 64 KiB", text, len(text), want)
					}
				}
				if n := len(g.Status()[0].Reason); n > 5<<10 {
					t.Errorf("got a reason of %d bytes in the status", n)
				}
				for _, d := range seen.all {
					if len(d.Reason) > 5<<10 {
						t.Errorf("got a reason of %d bytes in the record of %s", len(d.Reason), d.Action)
					}
				}
			})
		})
	}
}

// A template takes memory for each of its variables, once it is parsed.
func TestVariablesOfTemplatesCountToTheLimitOfAnUpstream(t *testing.T) {
	t.Parallel()
	srv := newServer("e")
	for i := range 2000 {
		srv.AddTemplate(mcp.ResourceTemplate{URITemplate: fmt.Sprintf("e:%d{?a%s}", i, strings.Repeat(",b", 63)), Name: "t"}, func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) {
			return nil, mcpserver.ErrNotFound
		})
	}
	g := start(t, upstream("e", srv))
	c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})
	n := 0
	for _, err := range c.Templates(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n < 400 || n > 8<<20/256/64 {
		t.Errorf("got %d templates, want those that fit with 256 bytes for each of 64 variables", n)
	}
	if omitted := strings.Join(g.Status()[0].Omitted, "\n"); !strings.Contains(omitted, "features of the server together have more than") {
		t.Errorf("got %.500q, want the reason", omitted)
	}
}
