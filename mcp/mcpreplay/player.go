package mcpreplay

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// Player sends the requests of a recorded client to a server. Make one with NewPlayer, connect a client with the
// options that Answer has set, and call Play once.
type Player struct {
	recordings []*mcpwire.Recording
	exchanges  []Exchange
	report     *reporter

	mu        sync.Mutex
	questions []Question // guarded by mu: of the exchange that is played, without those that were asked again
}

// NewPlayer returns a Player of recordings, one after another. Options may be nil.
func NewPlayer(o *Options, recs ...*mcpwire.Recording) *Player {
	p := &Player{report: newReport(o)}
	for _, rec := range recs {
		p.exchanges = append(p.exchanges, Exchanges(rec)...)
	}
	p.recordings = recs
	return p
}

// Answer sets the options of the client so that it answers the questions of the server as the recorded client
// did, each kind in its order. What was not asked in the recording is declined. The client has the capabilities of the
// recorded one, because servers list features by them.
func (p *Player) Answer(o *mcpclient.Options) {
	elicit := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		answer := mcp.ElicitResult{Action: mcp.ElicitDecline}
		if raw := p.next(mcp.MethodElicit); raw != nil {
			if err := json.Unmarshal(raw, &answer); err != nil {
				return nil, fmt.Errorf("recorded answer: %w", err)
			}
		}
		return &answer, nil
	}
	if p.can("elicitation") || p.asks(mcp.MethodElicit) {
		o.ElicitForm, o.ElicitURL = elicit, elicit
	}
	if !p.asks(mcp.MethodCreateMessage) && !p.asks(mcp.MethodRootsList) {
		return
	}
	o.Sample = func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		answer := new(mcp.CreateMessageResult)
		if raw := p.next(mcp.MethodCreateMessage); raw == nil || json.Unmarshal(raw, answer) != nil {
			return nil, mcp.Errorf(mcp.CodeRejected, "the recording has no answer of a model")
		}
		return answer, nil
	}
	o.Roots = func(context.Context) ([]mcp.Root, error) {
		var answer mcp.ListRootsResult
		if raw := p.next(mcp.MethodRootsList); raw != nil {
			_ = json.Unmarshal(raw, &answer)
		}
		return answer.Roots, nil
	}
}

// can reports whether a recorded client has said that it has a capability, or nothing of its capabilities.
func (p *Player) can(capability string) bool {
	said := false
	for _, rec := range p.recordings {
		for i := range rec.Lines {
			var params struct {
				Capabilities map[string]jsontext.Value `json:"capabilities"`
				Meta         struct {
					Capabilities map[string]jsontext.Value `json:"io.modelcontextprotocol/clientCapabilities"`
				} `json:"_meta"`
			}
			if l := &rec.Lines[i]; l.Kind != "request" || json.Unmarshal(l.Payload, &params) != nil {
				continue
			}
			for _, all := range []map[string]jsontext.Value{params.Capabilities, params.Meta.Capabilities} {
				if _, found := all[capability]; found {
					return true
				}
				said = said || all != nil
			}
		}
	}
	return !said
}

// asks reports whether the recorded server has asked a question of that method.
func (p *Player) asks(method string) bool {
	for _, e := range p.exchanges {
		for _, q := range e.Questions {
			if q.Method == method {
				return true
			}
		}
	}
	return false
}

// next returns the next recorded answer to a question of that method, or nil.
func (p *Player) next(method string) jsontext.Value {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, q := range p.questions {
		if q.Method == method {
			p.questions = append(p.questions[:i:i], p.questions[i+1:]...)
			return q.Answer
		}
	}
	return nil
}

// Play sends the requests in their order, one after another: lists, calls, prompts, reads and completions. It returns
// how the answers differ, and an error when the connection is lost. A request whose arguments have secrets that
// are not in the recording is not sent.
func (p *Player) Play(ctx context.Context, c *mcpclient.Client) (*Report, error) {
	cursors := make(map[string]string) // of this server, by those of the recorded one
	for i := range p.exchanges {
		want := &p.exchanges[i]
		if !compares(want.Method) {
			continue
		}
		params, ok := withCursor(want, cursors)
		if !ok || !want.answered() || want.Cut || strings.Contains(string(want.Params), redactedText) {
			p.report.Skipped++
			continue
		}
		p.mu.Lock()
		p.questions = append([]Question(nil), want.Questions...)
		p.mu.Unlock()
		got, err := p.send(ctx, c, want, params)
		if err != nil {
			return &p.report.Report, err
		}
		if from, to := nextCursor(want.Result), nextCursor(got.Result); from != "" {
			cursors[want.Method+" "+from] = to
		}
		p.report.compare(want, got)
	}
	return &p.report.Report, nil
}

// send sends a request. An error of the server is an answer.
func (p *Player) send(ctx context.Context, c *mcpclient.Client, want *Exchange, params jsontext.Value) (*Exchange, error) {
	c.ClearCache()
	got := &Exchange{Line: want.Line, Method: want.Method, Params: params}
	var result jsontext.Value
	err := c.Request(ctx, want.Method, params, &result)
	var refused *mcp.Error
	switch {
	case err == nil:
		got.Result = result
	case errors.As(err, &refused) && ctx.Err() == nil:
		got.Error, err = json.Marshal(map[string]int64{"code": refused.Number})
		if err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("replay: line %d: %w", want.Line+1, err)
	}
	return got, nil
}

// withCursor returns the params of a request with the cursor of the server that is played to. ok is false for a page that
// this server does not have.
func withCursor(e *Exchange, cursors map[string]string) (params jsontext.Value, ok bool) {
	var members map[string]jsontext.Value
	if json.Unmarshal(e.Params, &members) != nil || members["cursor"] == nil {
		return e.Params, true
	}
	var recorded string
	_ = json.Unmarshal(members["cursor"], &recorded)
	cursor := cursors[e.Method+" "+recorded]
	if cursor == "" {
		return nil, false
	}
	members["cursor"], _ = json.Marshal(cursor)
	params, err := json.Marshal(members)
	return params, err == nil
}

func nextCursor(result jsontext.Value) string {
	var page struct {
		NextCursor string `json:"nextCursor"`
	}
	_ = json.Unmarshal(result, &page)
	return page.NextCursor
}
