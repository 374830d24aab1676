package doctor_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/doctor"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

var (
	quiet     = log.New(io.Discard, "", 0)
	quietSlog = slog.New(slog.DiscardHandler)
)

var httpFaults = []fault{
	{name: "a wrong path", id: doctor.EndpointNotFound, text: "HTTP 404", make: answering(http.StatusNotFound, nil, "")},
	{
		name: "a wrong path, with the usual one to try", id: doctor.EndpointNotFound, text: "the path /api is not that of an MCP endpoint: the server answered HTTP 405", fix: "/mcp",
		make: func(t *testing.T, u *host.Upstream, o *doctor.Options) {
			answering(http.StatusMethodNotAllowed, nil, "")(t, u, o)
			u.Target = mcpclient.URL(u.Target.String()[:len(u.Target.String())-len("/mcp")] + "/api?key=s3cret&team=a")
		},
	},
	{
		name: "a web page", id: doctor.EndpointContent, text: `"text/html"`,
		make: answering(http.StatusOK, http.Header{"Content-Type": {"text/html"}}, "<html>welcome</html>"),
	},
	{
		name: "a redirect to another host", id: doctor.EndpointRedirect, text: "https://elsewhere.example",
		make: answering(http.StatusTemporaryRedirect, http.Header{"Location": {"https://elsewhere.example/mcp"}}, ""),
	},
	{name: "a wrong host", id: doctor.EndpointForbidden, text: "HTTP 403", make: answering(http.StatusForbidden, nil, "")},
	{name: "too many requests", id: doctor.EndpointBusy, text: "HTTP 429", fix: "fondaco doctor notes", make: answering(http.StatusTooManyRequests, nil, "")},
	{name: "a proxy without its server", id: doctor.EndpointFailing, text: "HTTP 502", fix: "fondaco doctor notes", make: answering(http.StatusBadGateway, nil, "")},
	{name: "a proxy that wants a password", id: doctor.ProxyPassword, text: "HTTP 407", fix: "USER:PASSWORD", make: answering(http.StatusProxyAuthRequired, nil, "")},
	{name: "another status", id: doctor.EndpointRefused, text: "HTTP 418", fix: "FONDACO_WIRE=1", make: answering(http.StatusTeapot, nil, "")},
	{
		name: "a key that is missing", id: doctor.SignInRequired, text: "none are configured", fix: "fondaco set notes --header 'Authorization: Bearer KEY'",
		make: answering(http.StatusUnauthorized, http.Header{"Www-Authenticate": {"Bearer"}}, ""),
	},
	{
		name: "a wrong token", id: doctor.SignInRefused, text: "refuses the token", fix: "fondaco set notes --header",
		make: withHeader(answering(http.StatusUnauthorized, http.Header{"Www-Authenticate": {`Bearer error="invalid_token"`}}, "")),
	},
	{
		name: "a token without a scope", id: doctor.SignInScope, text: "notes:write", fix: "fondaco set notes --header",
		make: withHeader(answering(http.StatusForbidden, http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="notes:write"`}}, "")),
	},
	{
		name: "401 without metadata", id: doctor.MetadataMissing, text: "no protected resource metadata", fix: "--header 'Authorization: Bearer KEY'",
		make: protected(func(*metadata) http.HandlerFunc { return http.NotFound }),
	},
	{
		name: "a web page for metadata", id: doctor.MetadataMissing, text: "no protected resource metadata", fix: "--header",
		make: protected(func(*metadata) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>welcome</html>") }
		}),
	},
	{
		name: "metadata of another server", id: doctor.MetadataInvalid, text: "https://other.example",
		make: protected(func(m *metadata) http.HandlerFunc {
			m.resource["resource"] = "https://other.example/mcp"
			return m.serve
		}),
	},
	{
		name: "a sign-in", id: doctor.SignInRequired, text: "sign-in required at http://127.0.0.1:", fix: "fondaco auth login notes",
		make: protected(func(m *metadata) http.HandlerFunc { return m.serve }),
	},
	{
		name: "no store of tokens", id: doctor.SignInFailed, text: "the disk is broken", fix: "fondaco auth login notes",
		make: func(t *testing.T, u *host.Upstream, o *doctor.Options) {
			protected(func(m *metadata) http.HandlerFunc { return m.serve })(t, u, o)
			o.Authorizer = func(*host.Upstream) mcpclient.Authorizer { return brokenTokens{} }
		},
	},
}

// answering makes a server that answers each request with a status.
func answering(status int, header http.Header, body string) func(*testing.T, *host.Upstream, *doctor.Options) {
	return func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
		serve(t, u, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for name, values := range header {
				w.Header()[name] = values
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
	}
}

// withHeader adds a token to the requests.
func withHeader(make func(*testing.T, *host.Upstream, *doctor.Options)) func(*testing.T, *host.Upstream, *doctor.Options) {
	return func(t *testing.T, u *host.Upstream, o *doctor.Options) {
		make(t, u, o)
		u.Header = http.Header{"Authorization": {"Bearer token"}}
	}
}

// metadata are the documents by which a client finds where to sign in.
type metadata struct{ resource, issuer map[string]any }

func (m *metadata) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	document := m.issuer
	if r.URL.Path == "/.well-known/oauth-protected-resource/mcp" {
		document = m.resource
	}
	_ = json.MarshalWrite(w, document)
}

// protected makes a server that wants tokens, with the documents of a handler.
func protected(documents func(*metadata) http.HandlerFunc) func(*testing.T, *host.Upstream, *doctor.Options) {
	return func(t *testing.T, u *host.Upstream, o *doctor.Options) {
		mux := http.NewServeMux()
		s := serve(t, u, mux)
		serveDocument := documents(&metadata{
			resource: map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}},
			issuer: map[string]any{
				"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
				"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			},
		})
		mux.HandleFunc("/.well-known/", serveDocument)
		mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		})
		o.Authorizer = func(*host.Upstream) mcpclient.Authorizer {
			return mcpauth.NewClient(&mcpauth.ClientOptions{Name: "test", Store: mcpauth.MemoryStore(), ManualSignIn: true, Logger: quietSlog})
		}
	}
}

// brokenTokens is an authorizer whose tokens cannot be read.
type brokenTokens struct{}

func (brokenTokens) Authorize(*http.Request) error { return nil }

func (brokenTokens) Challenged(*http.Request, *http.Response) error {
	return &mcpauth.SignInError{Server: "s", Err: fmt.Errorf("the disk is broken")}
}

var protocolFaults = []fault{
	{
		name: "a server that never answers", id: doctor.ConnectionTimeout, text: "did not answer the handshake in time", fix: "FONDACO_WIRE=1 fondaco doctor notes",
		make: func(t *testing.T, u *host.Upstream, o *doctor.Options) {
			released := make(chan struct{})
			s := serve(t, u, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
			t.Cleanup(func() { close(released) })
			_ = s
			o.Start = 50 * time.Millisecond
		},
	},
	{
		name: "a revision that does not exist", id: doctor.RevisionUnsupported, text: `"1999-01-01", which nobody has published`, warning: true,
		make: speaking(map[string]string{"initialize": `{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`}),
	},
	{
		name: "no revision in common", id: doctor.RevisionUnsupported, text: "speaks DRAFT-2031, and this program 2024-11-05", fix: "fondaco version",
		make: speaking(map[string]string{"initialize": `{"protocolVersion":"DRAFT-2031","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`}),
	},
	{
		name: "revisions of the future", id: doctor.RevisionUnsupported, text: "2030-01-01", fix: "fondaco version",
		make: speaking(map[string]string{"server/discover": `{"resultType":"complete","supportedVersions":["2030-01-01"],"capabilities":{}}`}),
	},
	{
		name: "an old revision", id: doctor.RevisionOld, text: "old 1 speaks 2024-11-05", warning: true,
		make: speaking(map[string]string{"initialize": `{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`}),
	},
	{
		name: "a handshake of the wrong type", id: doctor.ConnectionProtocol, text: "breaks the protocol", fix: "FONDACO_WIRE=1",
		make: speaking(map[string]string{"initialize": `{"protocolVersion":7}`}),
	},
	{
		name: "a connection that ends", id: doctor.ConnectionLost, text: "ended the connection", fix: "FONDACO_WIRE=1",
		make: func(_ *testing.T, u *host.Upstream, _ *doctor.Options) {
			u.Target = mcpclient.InProcess(serveFunc(func(context.Context, mcp.Conn) error { return nil }))
		},
	},
	{
		name: "a socket that is not there", id: doctor.ConnectionFailed, text: "connect", fix: "FONDACO_WIRE=1",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			u.Target = mcpclient.Socket("unix", t.TempDir()+"/s")
		},
	},
	{
		name: "an empty server", id: doctor.FeaturesNone, text: "no tools", warning: true,
		make: func(_ *testing.T, u *host.Upstream, _ *doctor.Options) { u.Target = mcpclient.InProcess(newServer()) },
	},
	{
		name: "a list that fails", id: doctor.FeaturesFailed, text: "cannot be listed", fix: "FONDACO_WIRE=1",
		make: func(_ *testing.T, u *host.Upstream, _ *doctor.Options) {
			srv := newServer()
			srv.Tool("add", "Add a note", func(context.Context, struct{}) (string, error) { return "added", nil })
			srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
				return func(ctx context.Context, r *mcpserver.Request) (any, error) {
					if r.Method() == mcp.MethodToolsList {
						return nil, mcp.Errorf(mcp.CodeInternal, "the index is broken")
					}
					return next(ctx, r)
				}
			})
			u.Target = mcpclient.InProcess(srv)
		},
	},
	{
		name: "a list that never ends", id: doctor.FeaturesFailed, text: "did not list its features within", fix: "FONDACO_WIRE=1",
		make: func(_ *testing.T, u *host.Upstream, o *doctor.Options) {
			srv := newServer()
			srv.Tool("add", "Add a note", func(context.Context, struct{}) (string, error) { return "added", nil })
			srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
				return func(ctx context.Context, r *mcpserver.Request) (any, error) {
					if r.Method() == mcp.MethodToolsList {
						<-ctx.Done()
					}
					return next(ctx, r)
				}
			})
			u.Target, o.Step = mcpclient.InProcess(srv), 50*time.Millisecond
		},
	},
	{
		name: "tools of one name", id: doctor.LintFault, text: `duplicate: tool "add": it is listed twice`, fix: "fondaco tools notes --json", warning: true,
		make: listing(`{"name":"add","description":"Add","inputSchema":{"type":"object"}},{"name":"add","description":"Add","inputSchema":{"type":"object"}}`),
	},
	{
		name: "a schema that model APIs refuse", id: doctor.LintFault, text: "refused by Anthropic Messages, OpenAI", fix: "fondaco tools notes --json", warning: true,
		make: listing(`{"name":"add","description":"Add","inputSchema":{"type":"object","oneOf":[{}]}}`),
	},
	{
		name: "tools without descriptions", id: doctor.LintNote, text: `description (3 times): tool "a" /description: the description is missing`, fix: "fondaco tools notes --json", warning: true,
		make: listing(`{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}},{"name":"c","inputSchema":{"type":"object"}}`),
	},
	{
		name: "a tool that is not there", id: doctor.CallUnknown, text: `no tool "remove"`, fix: "fondaco doctor notes",
		make: calling("remove", `{}`),
	},
	{
		name: "a tool that fails", id: doctor.CallToolError, text: "the shelf is full",
		make: calling("add", `{"text":"x"}`),
	},
	{
		name: "a call that fails", id: doctor.CallFailed, text: "the call of panics fails", fix: "FONDACO_WIRE=1",
		make: calling("panics", `{}`),
	},
	{
		name: "a ping without an answer", id: doctor.PingFailed, text: "does not answer a ping", fix: "FONDACO_WIRE=1",
		make: speaking(map[string]string{
			"initialize": `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"deaf","version":"1"}}`, "ping": "",
		}),
	},
}

func newServer() *mcpserver.Server {
	return mcpserver.New("notes", "1", &mcpserver.Options{Logger: quietSlog})
}

// calling makes a server whose tools do not work, and calls one.
func calling(tool, args string) func(*testing.T, *host.Upstream, *doctor.Options) {
	return func(_ *testing.T, u *host.Upstream, o *doctor.Options) {
		srv := newServer()
		srv.Tool("add", "Add a note", func(context.Context, struct {
			Text string `json:"text" doc:"the note"`
		},
		) (string, error) {
			return "", fmt.Errorf("the shelf is full")
		})
		srv.AddTool(mcp.Tool{Name: "panics", Description: "Panics"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "no")
		})
		u.Target, o.Tool, o.Arguments = mcpclient.InProcess(srv), tool, jsontext.Value(args)
	}
}

// listing makes a server of the session era that lists tools.
func listing(tools string) func(*testing.T, *host.Upstream, *doctor.Options) {
	return speaking(map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}}`,
		"tools/list": `{"tools":[` + tools + `]}`, "ping": `{}`,
	})
}

// speaking makes a server over HTTP that answers some methods with a result, an empty one with an error
// of the method, and all others with the error that the method does not exist.
func speaking(results map[string]string) func(*testing.T, *host.Upstream, *doctor.Options) {
	return func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
		serve(t, u, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m struct {
				ID     jsontext.Value `json:"id,omitzero"`
				Method string         `json:"method"`
			}
			if r.Method != http.MethodPost || json.UnmarshalRead(r.Body, &m) != nil {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			if m.ID == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			switch result, ok := results[m.Method]; {
			case ok && result == "":
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no"}}`, m.ID)
			case ok:
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
			default:
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
			}
		}))
	}
}

// serveFunc is a server that is a function.
type serveFunc func(context.Context, mcp.Conn) error

func (f serveFunc) Serve(ctx context.Context, conn mcp.Conn) error { return f(ctx, conn) }

func TestHealthyServersHaveNoFaults(t *testing.T) {
	t.Parallel()
	srv := newServer()
	srv.Tool("add", "Add a note to the shelf", func(context.Context, struct{}) (string, error) { return "added", nil })
	web := httptest.NewServer(srv.HTTPHandler())
	t.Cleanup(web.Close)
	for name, target := range map[string]mcpclient.Target{"in this process": mcpclient.InProcess(srv), "over HTTP": mcpclient.URL(web.URL + "/mcp")} {
		u, o := newSubject(t)
		u.Target, o.Tool = target, "add"
		r := examine(t, u, o)
		for _, one := range r.Results {
			if one.Status != doctor.OK && one.Status != doctor.Skipped && one.Text != `annotations-missing: tool "add" /annotations: neither readOnlyHint nor destructiveHint: clients have to treat the tool as one that destroys, and ask before each call` {
				t.Errorf("%s: got %+v, want ok", name, one)
			}
		}
		if last := r.Results[len(r.Results)-1]; last.Status != doctor.OK || last.Text != "the call of add returned a result" {
			t.Errorf("%s: got %+v, want a call", name, last)
		}
	}
}
