package mcpcheck

import (
	"cmp"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// probe is one thing that a server has to withstand.
type probe struct {
	name string
	spec string // the page
	// sessionSpec is the page of the revisions with sessions, if it is another one.
	sessionSpec string
	// needs is a feature that the server has to have; empty for none.
	needs string
	// send sends messages, and judges the answers. An empty text means OK.
	send func(ctx context.Context, p *prober) (Status, string)
}

// prober sends probes in one revision over one connection, which it makes anew when the server ends it.
type prober struct {
	*runner
	revision mcp.Revision
	peer     peer
	lastID   int
	// gone is set after a connection could not be made, which is a fault once.
	gone bool
}

// probe sends all probes in a revision.
func (r *runner) probe(ctx context.Context, revision mcp.Revision) {
	p := &prober{runner: r, revision: revision}
	defer p.end()
	if err := p.begin(ctx); err != nil {
		p.add(Result{Check: "connection", Revision: revision, Status: Fault, Text: cut(fmt.Sprintf("no second connection, so that the remaining checks of the revision were not made: %v", err))})
		return
	}
	all := probes
	if r.target.URL != "" {
		all = slices.Concat(probes, httpProbes)
	}
	for _, one := range all {
		if ctx.Err() != nil {
			return
		}
		status, text := p.run(ctx, &one)
		spec := one.spec
		if !revision.Stateless() {
			spec = cmp.Or(one.sessionSpec, spec)
		}
		p.add(Result{Check: one.name, Revision: revision, Status: status, Text: cut(text), Spec: page(revision, spec)})
	}
}

// run sends one probe, and then checks that the server still answers.
func (p *prober) run(ctx context.Context, one *probe) (Status, string) {
	if one.needs != "" && !p.has(one.needs) {
		return Skipped, "the server has no " + one.needs
	}
	if err := p.begin(ctx); err != nil {
		if p.gone {
			return Skipped, fmt.Sprintf("still no new connection: %v", err)
		}
		p.gone = true
		return Fault, fmt.Sprintf("no new connection: %v", err)
	}
	p.gone = false
	status, text := one.send(ctx, p)
	if p.peer == nil { // the probe has used a connection of its own
		return status, cmp.Or(text, asSpecified)
	}
	if err := p.checkAlive(ctx); err != nil {
		p.end()
		if status != Fault {
			text = strings.TrimPrefix(text+"; ", "; ") + fmt.Sprintf("the server does not answer any more after it: %v", err)
		}
		return Fault, text
	}
	return status, cmp.Or(text, asSpecified)
}

const asSpecified = "as the specification says"

func (p *prober) has(feature string) bool {
	switch feature {
	case "tools":
		return p.capabilities.Tools != nil
	case "resources":
		return p.capabilities.Resources != nil
	case "prompts":
		return p.capabilities.Prompts != nil
	}
	return true
}

// begin connects, unless there is a connection, and opens a session where the revision has them.
func (p *prober) begin(ctx context.Context) error {
	if p.peer != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.opts.connect(p.target))
	defer cancel()
	if err := p.connect(); err != nil || p.revision.Stateless() {
		return err
	}
	a, err := p.initialize(ctx, p.revision.String())
	if a.status >= http.StatusBadRequest && a.Error == nil {
		err = fmt.Errorf("initialize: got HTTP %d; want a result, over Streamable HTTP", a.status)
	}
	if err == nil && a.Result == nil {
		err = fmt.Errorf("initialize: got %s, want a result", &a)
	}
	if err != nil {
		p.end()
		return err
	}
	if h, ok := p.peer.(*httpPeer); ok {
		h.header.Set(httpheader.ProtocolVersion, p.revision.String())
	}
	_, err = p.peer.send(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "", nil)
	return err
}

// connect makes a connection, or prepares one over HTTP.
func (p *prober) connect() error {
	if p.target.URL == "" {
		conn, err := p.target.dial()
		if err != nil {
			return err
		}
		p.peer = &connPeer{conn}
		return nil
	}
	header := p.target.HTTP.Header.Clone()
	if header == nil {
		header = make(http.Header)
	}
	p.peer = &httpPeer{url: p.target.URL, client: p.client, header: header}
	return nil
}

func (p *prober) end() {
	if p.peer != nil {
		p.peer.close()
		p.peer = nil
	}
}

func (p *prober) initialize(ctx context.Context, revision string) (answer, error) {
	id := p.nextID()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"mcpcheck","version":"1"}}}`, id, revision)
	return last(p.peer.send(ctx, message, id, nil))
}

func (p *prober) nextID() string {
	p.lastID++
	return strconv.Itoa(p.lastID)
}

// last returns the last of some answers.
func last(all []answer, err error) (answer, error) {
	if len(all) == 0 {
		return answer{}, err
	}
	return all[len(all)-1], err
}

// params returns the members of params with the metadata of the revision.
func (p *prober) params(members string) string {
	if !p.revision.Stateless() {
		return "{" + members + "}"
	}
	return "{" + p.meta(p.revision.String()) + strings.TrimSuffix(","+members, ",") + "}"
}

// meta is the metadata of a request of the stateless era.
func (p *prober) meta(revision string) string {
	return fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"mcpcheck","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`, revision)
}

// headers are those that the revision requires for a message.
func (p *prober) headers(method, members string) http.Header {
	if !p.revision.Stateless() {
		return nil
	}
	h := http.Header{httpheader.ProtocolVersion: {p.revision.String()}, httpheader.Method: {method}}
	var named struct{ Name, URI string }
	_ = json.Unmarshal([]byte("{"+members+"}"), &named, json.MatchCaseInsensitiveNames(true))
	if name := named.Name + named.URI; name != "" {
		h.Set(httpheader.Name, name)
	}
	return h
}

// request sends a request, whose params have the members, and waits for its response.
func (p *prober) request(ctx context.Context, method, members string) (answer, error) {
	id := p.nextID()
	return p.raw(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, p.params(members)), id, p.headers(method, members))
}

// raw sends a message, and waits for the response with the id if it is not empty.
func (p *prober) raw(ctx context.Context, message, id string, h http.Header) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.opts.wait())
	defer cancel()
	return last(p.peer.send(ctx, message, id, h))
}

// aliveMethod is a request that each server answers.
func (p *prober) aliveMethod() string {
	if p.revision.Stateless() {
		return mcp.MethodDiscover
	}
	return mcp.MethodPing
}

// checkAlive checks that the server still answers. Over a connection it reads what the server has sent meanwhile.
func (p *prober) checkAlive(ctx context.Context) error {
	a, err := p.request(ctx, p.aliveMethod(), "")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer to %s within %v", p.aliveMethod(), p.opts.wait())
	case err != nil:
		return err
	case a.Result == nil:
		return fmt.Errorf("got %s to %s, want a result", &a, p.aliveMethod())
	}
	return nil
}

// notified sends a message that has no answer, and returns the answers that come before that of a request
// after it.
func (p *prober) notified(ctx context.Context, message string, h http.Header) ([]answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.opts.wait())
	defer cancel()
	first, err := p.peer.send(ctx, message, "", h)
	if err != nil {
		return nil, err
	}
	first = slices.DeleteFunc(first, func(a answer) bool { return a.raw == nil })
	id := p.nextID()
	method := p.aliveMethod()
	rest, err := p.peer.send(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, p.params("")), id, p.headers(method, ""))
	rest = slices.DeleteFunc(rest, func(a answer) bool { return string(a.ID) == id })
	return append(first, rest...), err
}
