package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const metaModern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// everything offers one feature of each kind.
func everything(o *mcpserver.Options) *mcpserver.Server {
	srv := newServer(o)
	srv.Tool("echo", "", nothing)
	srv.Prompt("plan", "", plan, mcpserver.CompleteArg("from", mcpserver.Prefix("Oslo")))
	srv.Resource("a://b", "b", "", fixed("x"))
	return srv
}

func initialize(version string) string {
	return fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"0"}}`, version)
}

func TestInitializeNegotiatesARevision(t *testing.T) {
	claim.Shows(t, "R-038", "R-043a", "R-043b", "R-043c", "R-048a")
	for _, test := range []struct{ offer, want string }{
		{"2024-11-05", "2024-11-05"},
		{"2025-03-26", "2025-03-26"},
		{"2025-06-18", "2025-06-18"},
		{"2025-11-25", "2025-11-25"},
		{"2026-07-28", "2025-11-25"},
		{"2099-01-01", "2025-11-25"},
		{"1.0", "2025-11-25"},
	} {
		t.Run(test.offer, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				result := connect(t, everything(nil)).Must("initialize", initialize(test.offer))
				if got := at(t, result, "/protocolVersion"); got != `"`+test.want+`"` {
					t.Errorf("got %s, want %s", got, test.want)
				}
			})
		})
	}
}

func TestServerReportsItsInfoAndCapabilities(t *testing.T) {
	claim.Shows(t, "R-038", "R-052", "R-061b", "R-203", "R-224", "R-237", "R-244", "R-250a")
	options := func() *mcpserver.Options {
		return &mcpserver.Options{
			Title: "Test", Description: "A test", WebsiteURL: "https://example.com", Instructions: "Be kind.",
			Experimental: map[string]jsontext.Value{"com.example/x": jsontext.Value(`{"on":true}`)},
		}
	}
	capabilities := func(t *testing.T, extensions string) string {
		return canonical(t, jsontext.Value(`{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},
			"completions":{},"logging":{},"experimental":{"com.example/x":{"on":true}}`+extensions+`}`))
	}
	t.Run("initialize", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			same(t, connect(t, everything(options())).Must("initialize", initialize("2025-11-25")), `{
				"protocolVersion":"2025-11-25","instructions":"Be kind.",
				"serverInfo":{"name":"test","version":"1","title":"Test","description":"A test","websiteUrl":"https://example.com"},
				"capabilities":`+capabilities(t, "")+`}`)
		})
	})
	t.Run("initialize of the oldest", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			result := connect(t, everything(options())).Must("initialize", initialize("2024-11-05"))
			if got := at(t, result, "/serverInfo"); got != `{"name":"test","version":"1"}` {
				t.Errorf("got %s, want what the revision knows", got)
			}
			if got := at(t, result, "/capabilities/completions"); got != "" {
				t.Errorf("got completions %s, want none", got)
			}
		})
	})
	t.Run("discover", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			srv := everything(options())
			srv.Extend(mcpserver.Extension{ID: "com.example/ext"})
			same(t, dial(t, srv, mcp.V20260728).Must("server/discover", ""), `{
				"resultType":"complete","ttlMs":0,"cacheScope":"private","instructions":"Be kind.",
				"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1","title":"Test","description":"A test","websiteUrl":"https://example.com"}},
				"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],
				"capabilities":`+capabilities(t, `,"extensions":{"com.example/ext":{}}`)+`}`)
		})
	})
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			if got := at(t, connect(t, newServer(nil)).Must("initialize", initialize("2025-11-25")), "/capabilities"); got != `{"logging":{}}` {
				t.Errorf("got %s, want logging alone", got)
			}
		})
	})
}

func TestCapabilityStaysWhenItsLastFeatureGoes(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("a", "", nothing)
		srv.RemoveTool("a")
		w := connect(t, srv)
		method, params := "initialize", initialize(r.String())
		if isModern(r) {
			w.Revision, method, params = r, "server/discover", ""
		}
		if got := at(t, w.Must(method, params), "/capabilities/tools"); got != `{"listChanged":true}` {
			t.Errorf("got %s, want tools declared", got)
		}
	})
}

func TestSessionBeforeInitialize(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-287")
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, everything(nil))
		if got := w.Must("ping", ""); canonical(t, got) != `{}` {
			t.Errorf("ping: got %s, want {}", got)
		}
		for _, method := range []string{"tools/list", "tools/call", "logging/setLevel", "resources/subscribe", "unknown"} {
			w.Refused(method, "", -32600)
		}
		w.Write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		w.Write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		w.Refused("tools/list", "", -32600)
		w.Must("initialize", initialize("2025-11-25"))
		w.Must("tools/list", "")
	})
}

func TestMalformedInitializeIsRefusedAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, everything(nil))
		for _, params := range []string{
			`{}`,
			`{"protocolVersion":""}`,
			`{"protocolVersion":20251125,"capabilities":{},"clientInfo":{"name":"c","version":"0"}}`,
			`{"protocolVersion":["2025-11-25"],"capabilities":{},"clientInfo":{"name":"c","version":"0"}}`,
		} {
			w.Refused("initialize", params, -32602)
		}
		w.Must("initialize", initialize("2025-11-25"))
	})
}

func TestClientThatSaysSomethingOddAboutItselfOpensASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(nil)
		s.Tool("who", "", func(ctx context.Context, _ struct{}) (string, error) {
			r := mcpserver.From(ctx)
			who, _ := r.Client()
			can := r.Capabilities()
			return fmt.Sprintf("%s, roots %v, sampling %v", who.Name, can.Roots != nil, can.Sampling != nil), nil
		})
		w := connect(t, s)
		w.Must("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"roots":true,"sampling":7},"clientInfo":{"name":"c","version":1}}`)
		w.Write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		if got := string(w.Must("tools/call", `{"name":"who"}`)); !strings.Contains(got, "c, roots true, sampling false") {
			t.Errorf("got %s, want what can be read", got)
		}
	})
}

// TestEraIsDecidedBeforeTheMethod is about methods that one era has and the other
// has not, on one connection.
func TestEraIsDecidedBeforeTheMethod(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-036a", "R-064a", "R-289", "R-388b", "R-408", "D-24b", "G-m")
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, everything(nil), mcp.V20251125)
		for _, test := range []struct {
			method, params   string
			session, request int // error number, or 0
		}{
			{"ping", `{}`, 0, -32601},
			{"logging/setLevel", `{"level":"info"}`, 0, -32601},
			{"resources/subscribe", `{"uri":"a://b"}`, 0, -32601},
			{"resources/unsubscribe", `{"uri":"a://b"}`, 0, -32601},
			{"initialize", initialize("2025-11-25"), 0, -32601}, // again
			{"server/discover", `{}`, -32601, 0},
			{"tools/list", `{}`, 0, 0},
			{"tasks/list", `{}`, -32601, -32601},
			{"unknown", `{}`, -32601, -32601},
			{"resource/list", `{}`, -32601, -32601},
			{"root/list", `{}`, -32601, -32601},
		} {
			for params, code := range map[string]int{test.params: test.session, withMeta(t, test.params, strings.TrimSuffix(strings.TrimPrefix(metaModern, `"_meta":{`), `}`)): test.request} {
				if code == 0 {
					w.Must(test.method, params)
				} else {
					w.Refused(test.method, params, code)
				}
			}
		}
		w.Refused("subscriptions/listen", `{"notifications":{}}`, -32601)
	})
}

func TestStatelessRequestNeedsItsMetadata(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-029", "R-054", "R-254", "G-g")
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, everything(nil))
		for _, test := range []struct {
			name, meta string
			code       int
		}{
			{"no capabilities", `{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, -32602},
			{"no version", `{"io.modelcontextprotocol/clientCapabilities":{}}`, -32602},
			{"capabilities of another kind", `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}`, -32602},
			{"version of another kind", `{"io.modelcontextprotocol/protocolVersion":20260728,"io.modelcontextprotocol/clientCapabilities":{}}`, -32602},
			{"version that is not served", `{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}`, -32022},
			{"version of the other era", `{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}`, -32022},
			{"unknown log level", `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"loud"}`, -32602},
		} {
			err := w.Refused("tools/list", `{"_meta":`+test.meta+`}`, test.code)
			if test.code == -32022 && (at(t, err.Data, "/supported/0") != `"2026-07-28"` || at(t, err.Data, "/requested") == "") {
				t.Errorf("%s: got data %s, want what is supported and what was requested", test.name, err.Data)
			}
		}
		w.Must("tools/list", `{`+metaModern+`}`)
	})
}

func TestRevisionsCanBePinned(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-043b", "R-054", "R-066")
	t.Run("one of the session era", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := connect(t, everything(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20250618}}))
			err := w.Refused("tools/list", `{`+metaModern+`}`, -32022)
			same(t, err.Data, `{"supported":["2025-06-18"],"requested":"2026-07-28"}`)
			if got := at(t, w.Must("initialize", initialize("2025-11-25")), "/protocolVersion"); got != `"2025-06-18"` {
				t.Errorf("got %s, want the pinned revision", got)
			}
		})
	})
	t.Run("the stateless one", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := connect(t, everything(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20260728}}))
			err := w.Refused("initialize", initialize("2025-11-25"), -32602)
			same(t, err.Data, `{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
			w.Refused("tools/list", `{}`, -32600)
			same(t, jsontext.Value(at(t, w.Must("server/discover", `{`+metaModern+`}`), "/supportedVersions")), `["2026-07-28"]`)
		})
	})
}

func TestOneConnectionCarriesBothEras(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-056", "R-063", "R-064a")
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, everything(nil), mcp.V20250618)
		session := w.Must("tools/list", `{}`)
		request := w.Must("tools/list", `{`+metaModern+`}`)
		if at(t, session, "/resultType") != "" || at(t, request, "/resultType") != `"complete"` {
			t.Errorf("got %s and %s, want each in the form of its era", session, request)
		}
	})
}

func TestEnvelopeBelongsToTheStatelessEra(t *testing.T) {
	claim.Shows(t, "R-016", "R-033", "D-02a", "D-20")
	eachOf(t, revisions, func(t *testing.T, r mcp.Revision) {
		w := dial(t, everything(nil), r)
		for _, test := range []struct{ method, params string }{
			{"tools/list", ``},
			{"tools/call", `{"name":"echo"}`},
			{"resources/read", `{"uri":"a://b"}`},
			{"resources/list", ``},
			{"prompts/list", ``},
			{"prompts/get", `{"name":"plan","arguments":{"from":"x"}}`},
			{"completion/complete", `{"ref":{"type":"ref/prompt","name":"plan"},"argument":{"name":"from","value":"o"}}`},
		} {
			result := w.Must(test.method, test.params)
			for _, pointer := range []string{"/resultType", "/_meta/io.modelcontextprotocol~1serverInfo"} {
				if got := at(t, result, pointer); (got != "") != isModern(r) {
					t.Errorf("%s: got %s %q", test.method, pointer, got)
				}
			}
			if got := at(t, result, "/ttlMs"); got != "" && !isModern(r) {
				t.Errorf("%s: got ttlMs %s, want none", test.method, got)
			}
		}
	})
}

func TestInvalidOptionsPanicInNew(t *testing.T) {
	t.Parallel()
	declare := func(id, settings string) map[string]jsontext.Value {
		return map[string]jsontext.Value{id: jsontext.Value(settings)}
	}
	for _, test := range []struct {
		name, version string
		options       *mcpserver.Options
		want          string
	}{
		{"", "1", nil, "want a name and a version"},
		{"a", "", nil, "want a name and a version"},
		{"a", "1", &mcpserver.Options{Experimental: declare("x", `true`)}, `experimental capability "x": settings: want a JSON object`},
		{"a", "1", &mcpserver.Options{Experimental: declare("x", `{"a":}`)}, `experimental capability "x": settings: want a JSON object`},
	} {
		if text := panicText(t, func() { mcpserver.New(test.name, test.version, test.options) }); !strings.Contains(text, test.want) {
			t.Errorf("got %q, want %q in it", text, test.want)
		}
	}
}

func TestClientInfoAndMetadataGrantNoAccess(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		claim.Shows(t, "R-034", "R-204c", "R-341")
		srv := mostlyHidden()
		srv.Tool("who", "", func(ctx context.Context, _ struct{}) (string, error) {
			return mcpserver.From(ctx).Principal().String(), nil
		})
		var lists, users []string
		for _, name := range []string{"wire", "admin", "test"} {
			info := fmt.Sprintf(`{"name":%q,"version":"9"}`, name)
			w := connect(t, srv)
			w.Revision = r
			list, call := "{}", `{"name":"who"}`
			if isModern(r) {
				said := fmt.Sprintf(`"io.modelcontextprotocol/clientInfo":%s,"com.example/user":%q`, info, name)
				list, call = withMeta(t, list, said), withMeta(t, call, said)
			} else {
				w.Must("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":%s}`, r, info))
			}
			lists = append(lists, string(w.Must("tools/list", list)))
			users = append(users, at(t, w.Must("tools/call", call), "/content/0/text"))
		}
		if len(slices.Compact(lists)) != 1 || len(slices.Compact(users)) != 1 || users[0] != `"local"` {
			t.Errorf("got lists %q and users %q, want the same for all", lists, users)
		}
	})
}

func TestExtensionOfOneSideChangesNothing(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		claim.Shows(t, "R-062a", "G-f")
		extended := everything(nil)
		extended.Extend(mcpserver.Extension{ID: "com.example/ours"})
		for _, srv := range []*mcpserver.Server{everything(nil), extended} {
			for _, can := range []string{`{}`, `{"extensions":{"com.example/theirs":{"on":true}}}`} {
				w := dialAs(t, srv, r, can)
				w.Must("tools/call", `{"name":"echo"}`)
				w.Refused("com.example/method", "", -32601)
			}
		}
	})
}

func TestDynamicServerDeclaresAllListCapabilities(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		w := dial(t, newServer(&mcpserver.Options{Dynamic: true}), r)
		for method, member := range map[string]string{
			"tools/list": "/tools", "resources/list": "/resources", "resources/templates/list": "/resourceTemplates", "prompts/list": "/prompts",
		} {
			if got := at(t, w.Must(method, `{}`), member); got != "[]" {
				t.Errorf("%s: got %s, want an empty list", method, got)
			}
		}
		w.Refused("completion/complete", `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}}`, -32602)
		capabilities := ""
		if isModern(r) {
			capabilities = at(t, w.Must("server/discover", `{}`), "/capabilities")
		} else {
			again := connect(t, newServer(&mcpserver.Options{Dynamic: true}))
			capabilities = at(t, again.Must("initialize", initialize(r.String())), "/capabilities")
		}
		for _, declared := range []string{`"tools"`, `"resources"`, `"prompts"`, `"completions"`} {
			if !strings.Contains(capabilities, declared) && (declared != `"completions"` || r != mcp.V20241105) {
				t.Errorf("got %s, want %s declared", capabilities, declared)
			}
		}
	})
}
