package mcpreplay

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// NewServer returns a server that answers as the server of the recordings did: to a request for the same with the
// same answer, in the order of the recordings, and then with the last one again. It asks the questions that the
// recorded server asked. A request that the recordings do not have is an error that says so. A list that they do not
// have has the names of what was called or read. Several recordings are those of one server, such as the connections
// of a host to it. The options may be nil; Dynamic is set. It serves every revision, whichever was recorded.
func NewServer(o *mcpserver.Options, recs ...*mcpwire.Recording) *mcpserver.Server {
	options := mcpserver.Options{}
	if o != nil {
		options = *o
	}
	options.Dynamic = true
	r := &replayer{answers: make(map[string][]Exchange), next: make(map[string]int)}
	for _, rec := range recs {
		r.learn(rec)
	}
	options.Instructions = cmp.Or(options.Instructions, r.info.Instructions)
	srv := mcpserver.New(cmp.Or(r.info.ServerInfo.Name, "recording"), cmp.Or(r.info.ServerInfo.Version, "0"), &options)
	srv.Use(r.middleware)
	return srv
}

// handshake is what results of initialize and server/discover have in common.
type handshake struct {
	ServerInfo   mcp.Implementation `json:"serverInfo"`
	Instructions string             `json:"instructions"`
	Meta         struct {
		ServerInfo mcp.Implementation `json:"io.modelcontextprotocol/serverInfo"`
	} `json:"_meta"`
}

// replayer answers requests.
type replayer struct {
	answers map[string][]Exchange // by key
	info    handshake             // what the server has said about itself
	lists   lists                 // of what was used, for those that were not recorded

	mu   sync.Mutex
	next map[string]int // guarded by mu: the index of the next answer, by key
}

// learn reads the exchanges of a recording.
func (r *replayer) learn(rec *mcpwire.Recording) {
	for _, e := range Exchanges(rec) {
		switch {
		case e.Method == mcp.MethodInitialize, e.Method == mcp.MethodDiscover:
			_ = json.Unmarshal(e.Result, &r.info)
			if r.info.ServerInfo.Name == "" {
				r.info.ServerInfo = r.info.Meta.ServerInfo
			}
		case compares(e.Method) && e.answered():
			k := key(e.Method, e.Params)
			r.answers[k] = append(r.answers[k], e)
			r.lists.add(&e)
		}
	}
}

// lists are the features that a recording has used.
type lists struct {
	tools     mcp.ListToolsResult
	prompts   mcp.ListPromptsResult
	resources mcp.ListResourcesResult
}

func (l *lists) add(e *Exchange) {
	name := e.Name()
	switch e.Method {
	case mcp.MethodToolsCall:
		if !slices.ContainsFunc(l.tools.Tools, func(t mcp.Tool) bool { return t.Name == name }) {
			l.tools.Tools = append(l.tools.Tools, mcp.Tool{Name: name, InputSchema: jsontext.Value(`{"type":"object"}`)})
		}
	case mcp.MethodPromptsGet:
		if !slices.ContainsFunc(l.prompts.Prompts, func(p mcp.Prompt) bool { return p.Name == name }) {
			l.prompts.Prompts = append(l.prompts.Prompts, mcp.Prompt{Name: name})
		}
	case mcp.MethodResourcesRead:
		if !slices.ContainsFunc(l.resources.Resources, func(r mcp.Resource) bool { return r.URI == name }) {
			l.resources.Resources = append(l.resources.Resources, mcp.Resource{URI: name, Name: name})
		}
	}
}

// of returns the list for a method, nil if there is none.
func (l *lists) of(method string) any {
	switch method {
	case mcp.MethodToolsList:
		return &l.tools
	case mcp.MethodPromptsList:
		return &l.prompts
	case mcp.MethodResourcesList:
		return &l.resources
	}
	return nil
}

func (r *replayer) middleware(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, req *mcpserver.Request) (any, error) {
		if req.Outbound() || !compares(req.Method()) {
			return next(ctx, req)
		}
		params, _ := withoutRound(req.Params())
		k := key(req.Method(), params)
		e, ok := r.exchange(k)
		if !ok {
			if list := r.lists.of(req.Method()); list != nil {
				return list, nil
			}
			if req.Method() == mcp.MethodResourceTemplatesList {
				return next(ctx, req) // empty
			}
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: the recording has no such request", cut(k))
		}
		if err := ask(ctx, e.Questions); err != nil {
			return nil, err
		}
		r.advance(k)
		return answerOf(&e)
	}
}

func cut(text string) string {
	const most = 300
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// exchange returns the next exchange for a key.
func (r *replayer) exchange(k string) (e Exchange, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.answers[k]
	if len(all) == 0 {
		return e, false
	}
	return all[min(r.next[k], len(all)-1)], true
}

// advance goes on to the next answer for a key.
func (r *replayer) advance(k string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next[k]++
}

// ask asks what the recorded server asked, one question after another. A client that cannot be asked gets the answer
// all the same.
func ask(ctx context.Context, questions []Question) error {
	for i, q := range questions {
		params, err := q.DecodeParams()
		if err != nil {
			continue // a method of an extension
		}
		name := fmt.Sprint("question", i+1)
		var asked mcpserver.Question
		switch params := params.(type) {
		case *mcp.ElicitParams:
			asked = mcpserver.ElicitQuestion(name, params, new(mcp.ElicitResult))
		case *mcp.CreateMessageParams:
			asked = mcpserver.SampleQuestion(name, params, new(mcp.CreateMessageResult))
		default:
			asked = mcpserver.ListRoots(name, new([]mcp.Root))
		}
		if err := mcpserver.AskAll(ctx, asked); err != nil && !cannotAsk(err) {
			return err
		}
	}
	return nil
}

// cannotAsk reports whether the client, or its revision, does not have the question.
func cannotAsk(err error) bool {
	missing, ok := errors.AsType[*mcp.Error](err)
	return errors.Is(err, mcpserver.ErrCannotAsk) || ok && missing.Code == mcp.CodeMissingCapability
}

// answerOf returns the recorded answer in the vocabulary of package mcp.
func answerOf(e *Exchange) (any, error) {
	if e.Error != nil {
		return nil, errorOf(e.Error)
	}
	var result any
	switch e.Method {
	case mcp.MethodToolsList:
		result = new(mcp.ListToolsResult)
	case mcp.MethodToolsCall:
		result = new(mcp.CallToolResult)
	case mcp.MethodResourcesList:
		result = new(mcp.ListResourcesResult)
	case mcp.MethodResourceTemplatesList:
		result = new(mcp.ListResourceTemplatesResult)
	case mcp.MethodResourcesRead:
		result = new(mcp.ReadResourceResult)
	case mcp.MethodPromptsList:
		result = new(mcp.ListPromptsResult)
	case mcp.MethodPromptsGet:
		result = new(mcp.GetPromptResult)
	default:
		result = new(mcp.CompleteResult)
	}
	if err := json.Unmarshal(e.Result, result); err != nil {
		return nil, fmt.Errorf("recorded result: %w", err)
	}
	return result, nil
}

// codes are the numbers of errors that a server may send again.
var codes = map[int64]mcp.Code{
	-32600: mcp.CodeInvalidRequest, -32601: mcp.CodeMethodNotFound, -32602: mcp.CodeInvalidParams,
	-32603: mcp.CodeInternal, -32002: mcp.CodeResourceNotFound, -32042: mcp.CodeURLElicitationRequired,
}

func errorOf(payload jsontext.Value) error {
	var e struct {
		Code    int64          `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal(payload, &e); err != nil {
		return fmt.Errorf("recorded error: %w", err)
	}
	symbol, known := codes[e.Code]
	switch {
	case known:
		return &mcp.Error{Code: symbol, Message: e.Message, Data: e.Data}
	case e.Code >= -32768 && e.Code <= -32000:
		return &mcp.Error{Code: mcp.CodeInternal, Message: e.Message, Data: e.Data}
	}
	return &mcp.Error{Code: mcp.CodeOther, Number: e.Code, Message: e.Message, Data: e.Data}
}
