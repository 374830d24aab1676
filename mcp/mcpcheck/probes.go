package mcpcheck

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// The numbers of errors that the probes want.
const (
	parseError         = -32700
	invalidRequest     = -32600
	methodNotFound     = -32601
	invalidParams      = -32602
	resourceNotFound   = -32002
	unsupportedVersion = -32022
)

// What the probes send that is large. It is below the limits of common servers, or little above.
const (
	largeText  = 2 << 20 // bytes
	deepLevels = 20_000
)

// probes are sent over each transport.
var probes = []probe{
	{name: "unknown-method", spec: "basic#responses", send: func(ctx context.Context, p *prober) (Status, string) {
		a, err := p.request(ctx, "mcpcheck/unknown", "")
		return wantError(a, err, methodNotFound)
	}},
	{name: "string-id", spec: "basic#requests", send: func(ctx context.Context, p *prober) (Status, string) {
		const id = `"mcpcheck-1"`
		method := p.aliveMethod()
		a, err := p.raw(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, p.params("")), id, p.headers(method, ""))
		if err != nil || string(a.ID) != id {
			return Fault, fmt.Sprintf("got %s to a request with the id %s, want a response with the same id%s", &a, id, reasonSuffix(err))
		}
		return OK, ""
	}},
	{name: "unknown-notification", spec: "basic#notifications", send: func(ctx context.Context, p *prober) (Status, string) {
		return wantSilence(p.notified(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/mcpcheck/unknown","params":%s}`, p.params("")), p.headers("notifications/mcpcheck/unknown", "")))
	}},
	{name: "unknown-members", spec: "basic#requests", send: func(ctx context.Context, p *prober) (Status, string) {
		a, err := p.request(ctx, p.aliveMethod(), `"mcpcheck":{"a":[1]}`)
		if err != nil || a.Result == nil {
			return Fault, fmt.Sprintf("got %s to a request with a member that no revision has, want a result%s", &a, reasonSuffix(err))
		}
		return OK, ""
	}},
	{name: "wrong-params", spec: "server/tools", needs: "tools", send: func(ctx context.Context, p *prober) (Status, string) {
		a, err := p.request(ctx, mcp.MethodToolsCall, `"name":7`)
		return wantError(a, err, invalidParams)
	}},
	{name: "unknown-tool", spec: "server/tools", needs: "tools", send: func(ctx context.Context, p *prober) (Status, string) {
		a, err := p.request(ctx, mcp.MethodToolsCall, `"name":"mcpcheck_no_such_tool","arguments":{}`)
		if strings.Contains(string(a.Result), `"isError"`) {
			return Warning, fmt.Sprintf("got the result %s, want the error %d", &a, invalidParams)
		}
		return wantError(a, err, invalidParams)
	}},
	{name: "unknown-resource", spec: "server/resources", needs: "resources", send: func(ctx context.Context, p *prober) (Status, string) {
		a, err := p.request(ctx, mcp.MethodResourcesRead, `"uri":"mcpcheck://no/such/resource"`)
		return wantError(a, err, invalidParams, resourceNotFound)
	}},
	{name: "unknown-prompt", spec: "server/prompts", needs: "prompts", send: func(ctx context.Context, p *prober) (Status, string) {
		a, err := p.request(ctx, mcp.MethodPromptsGet, `"name":"mcpcheck_no_such_prompt"`)
		return wantError(a, err, invalidParams)
	}},
	{name: "unknown-cursor", spec: "server/utilities/pagination", needs: "tools", send: func(ctx context.Context, p *prober) (Status, string) {
		a, err := p.request(ctx, mcp.MethodToolsList, `"cursor":"mcpcheck-no-such-cursor"`)
		if a.Result != nil {
			return Warning, fmt.Sprintf("got a list for a cursor that the server has not given, want the error %d", invalidParams)
		}
		return wantError(a, err, invalidParams)
	}},
	{name: "unknown-revision", spec: "basic/versioning", sessionSpec: "basic/lifecycle#version-negotiation", send: func(ctx context.Context, p *prober) (Status, string) {
		if p.revision.Stateless() {
			id, method := p.nextID(), p.aliveMethod()
			h := p.headers(method, "")
			h.Set(httpheader.ProtocolVersion, "1999-12-31")
			a, err := p.raw(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, id, method, p.meta("1999-12-31")), id, h)
			return wantError(a, err, unsupportedVersion)
		}
		p.end() // a session has one handshake
		fresh := &prober{runner: p.runner, revision: p.revision}
		defer fresh.end()
		return fresh.unknownRevision(ctx)
	}},
	{name: "invalid-json", spec: "basic#responses", send: func(ctx context.Context, p *prober) (Status, string) {
		return p.invalid(ctx, `{"jsonrpc":"2.0","id":1,"method":`, parseError)
	}},
	{name: "invalid-message", spec: "basic#requests", send: func(ctx context.Context, p *prober) (Status, string) {
		return p.invalid(ctx, `{"jsonrpc":"1.0","id":"mcpcheck-invalid","method":7}`, invalidRequest)
	}},
	{name: "batch", spec: "basic#messages", send: func(ctx context.Context, p *prober) (Status, string) {
		if dialect.Of(p.revision).Batch {
			return Skipped, "the revision has batches"
		}
		status, text := p.invalid(ctx, `[{"jsonrpc":"2.0","id":"mcpcheck-batch","method":"ping"}]`, invalidRequest)
		if status == Fault {
			status = Warning // it harms nobody that batches are answered
		}
		return status, text
	}},
	{name: "duplicate-members", spec: "basic#messages", send: func(ctx context.Context, p *prober) (Status, string) {
		return p.withstand(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":"mcpcheck-a","id":"mcpcheck-b","method":%q,"params":%s}`, p.aliveMethod(), p.params("")))
	}},
	{name: "invalid-text", spec: "basic/transports", send: func(ctx context.Context, p *prober) (Status, string) {
		return p.withstand(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":"mcpcheck-text","method":%q,"params":%s}`, p.aliveMethod(), p.params("\"mcpcheck\":\"\xff\xfe \\ud800\"")))
	}},
	{name: "large-message", spec: "basic/transports", send: func(ctx context.Context, p *prober) (Status, string) {
		return p.withstand(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":"mcpcheck-large","method":%q,"params":%s}`, p.aliveMethod(), p.params(`"mcpcheck":"`+strings.Repeat("x", largeText)+`"`)))
	}},
	{name: "deep-message", spec: "basic/transports", send: func(ctx context.Context, p *prober) (Status, string) {
		return p.withstand(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":"mcpcheck-deep","method":%q,"params":%s}`, p.aliveMethod(), p.params(`"mcpcheck":`+strings.Repeat("[", deepLevels)+strings.Repeat("]", deepLevels))))
	}},
	{name: "unknown-cancellation", spec: "basic/utilities/cancellation", send: func(ctx context.Context, p *prober) (Status, string) {
		return wantSilence(p.notified(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":%s}`, p.params(`"requestId":"mcpcheck-none"`)), p.headers("notifications/cancelled", "")))
	}},
	{name: "cancellation", spec: "basic/utilities/cancellation", send: func(ctx context.Context, p *prober) (Status, string) {
		return p.cancelled(ctx)
	}},
	{name: "stray-response", spec: "basic#responses", send: func(ctx context.Context, p *prober) (Status, string) {
		found, err := p.notified(ctx, `{"jsonrpc":"2.0","id":"mcpcheck-none","result":{}}`, p.headers("", ""))
		found = slices.DeleteFunc(found, func(a answer) bool { return a.Error != nil }) // it may refuse the message
		return wantSilence(found, err)
	}},
}

// httpProbes are HTTP requests.
var httpProbes = []probe{
	{name: "foreign-origin", spec: "basic/transports#streamable-http", sessionSpec: "basic/transports#security-warning", send: func(ctx context.Context, p *prober) (Status, string) {
		h := p.headers(p.aliveMethod(), "")
		if h == nil {
			h = make(http.Header)
		}
		h.Set(httpheader.Origin, "https://mcpcheck.invalid")
		id := p.nextID()
		a, err := p.raw(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, p.aliveMethod(), p.params("")), id, h)
		if err != nil || a.status < http.StatusBadRequest {
			return Fault, fmt.Sprintf("got %s to a request of a web page of another origin, want HTTP 403: otherwise any web page can use the server of its visitor (DNS rebinding)%s", &a, reasonSuffix(err))
		}
		return OK, ""
	}},
	{name: "unknown-revision-header", spec: "basic/transports#header-validation", sessionSpec: "basic/transports#protocol-version-header", send: func(ctx context.Context, p *prober) (Status, string) {
		if !dialect.Of(p.revision).VersionHeader {
			return Skipped, "the revision has no such header"
		}
		h := p.headers(p.aliveMethod(), "")
		if h == nil {
			h = make(http.Header)
		}
		h.Set(httpheader.ProtocolVersion, "1999-12-31")
		id := p.nextID()
		a, err := p.raw(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, p.aliveMethod(), p.params("")), id, h)
		if err != nil || a.status != http.StatusBadRequest {
			return Fault, fmt.Sprintf("got HTTP %d, %s to a request with the header MCP-Protocol-Version: 1999-12-31, want HTTP 400%s", a.status, &a, reasonSuffix(err))
		}
		return OK, ""
	}},
	{name: "unknown-session", spec: "basic/transports#session-management", send: func(ctx context.Context, p *prober) (Status, string) {
		switch h, ok := p.peer.(*httpPeer); {
		case p.revision.Stateless():
			return Skipped, "the revision has no sessions"
		case !ok || h.session == "":
			return Skipped, "the server gives no session ids"
		}
		id := p.nextID()
		a, err := p.raw(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id), id, http.Header{httpheader.SessionID: {"mcpcheck-no-such-session"}})
		if err != nil || a.status != http.StatusNotFound {
			return Fault, fmt.Sprintf("got HTTP %d, %s to a request of a session that does not exist, want HTTP 404, by which clients know that they need a new one%s", a.status, &a, reasonSuffix(err))
		}
		return OK, ""
	}},
}

// reasonSuffix is what a text ends with if there is an error.
func reasonSuffix(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// wantError judges the answer to a request that has to be refused, with one of some numbers.
func wantError(a answer, err error, codes ...int) (Status, string) {
	switch {
	case err != nil:
		return Fault, fmt.Sprintf("got no answer, want the error %d: %v", codes[0], err)
	case a.Error == nil:
		return Fault, fmt.Sprintf("got %s, want the error %d", &a, codes[0])
	case !slices.Contains(codes, a.Error.Code):
		return Warning, fmt.Sprintf("got the error %d, want %d", a.Error.Code, codes[0])
	}
	return OK, ""
}

// wantSilence judges the answers to a message that has none.
func wantSilence(found []answer, err error) (Status, string) {
	if err != nil {
		return Fault, fmt.Sprintf("no answer to the next request: %v", err)
	}
	for _, a := range found {
		if !a.late() {
			return Fault, fmt.Sprintf("got %s, want no answer", &a)
		}
	}
	return OK, ""
}

// late reports whether an answer is one to a message of withstand. A server may answer requests in any order, so
// it may come after the answer to the request behind it, in a later check.
func (a *answer) late() bool {
	switch string(a.ID) {
	case `"mcpcheck-a"`, `"mcpcheck-b"`, `"mcpcheck-text"`, `"mcpcheck-large"`, `"mcpcheck-deep"`:
		return true
	}
	return false
}

// invalid sends a message that is none, and wants it refused.
func (p *prober) invalid(ctx context.Context, message string, code int) (Status, string) {
	found, err := p.notified(ctx, message, p.headers("ping", ""))
	switch {
	case err != nil:
		return Fault, fmt.Sprintf("no answer to the next request: %v", err)
	case len(found) == 0:
		if p.target.URL == "" {
			return Warning, fmt.Sprintf("got no answer, want the error %d", code)
		}
		return OK, "" // HTTP has refused it
	case found[0].Error == nil:
		return Fault, fmt.Sprintf("got %s, want the error %d", &found[0], code)
	}
	return OK, ""
}

// withstand sends a message that the server may answer or refuse, as long as it works afterwards.
func (p *prober) withstand(ctx context.Context, message string) (Status, string) {
	if _, err := p.notified(ctx, message, p.headers(p.aliveMethod(), "")); err != nil {
		return Fault, fmt.Sprintf("the server does not withstand it: %v", err)
	}
	return OK, "answered or refused, and the server works afterwards"
}

// unknownRevision opens a session in a revision that does not exist. The server answers with one of its own,
// or refuses it.
func (p *prober) unknownRevision(ctx context.Context) (Status, string) {
	if err := p.connect(); err != nil {
		return Fault, fmt.Sprintf("no new connection: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, p.opts.connect(p.target))
	defer cancel()
	a, err := p.initialize(ctx, "1999-12-31")
	var result mcp.InitializeResult
	switch {
	case err != nil:
		return Fault, fmt.Sprintf("got no answer, want a result with a revision of the server: %v", err)
	case a.Error != nil:
		return Warning, fmt.Sprintf("got the error %d, want a result with a revision of the server, which the client may accept", a.Error.Code)
	case json.Unmarshal(a.Result, &result) != nil || !slices.ContainsFunc(mcp.Revisions(), func(r mcp.Revision) bool { return r.String() == result.ProtocolVersion }):
		return Fault, fmt.Sprintf("got %s, want a revision that the server has", &a)
	}
	return OK, ""
}
