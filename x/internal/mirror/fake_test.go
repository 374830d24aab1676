package mirror_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/x/internal/mirror"
	"github.com/fondaco/fondaco/x/internal/mirror/mirrortest"
)

type object = map[string]any

// fake is a foreign server without an SDK.
type fake struct {
	connecting func() error                          // called by Connect, if it is not nil
	hides      func(s *fakeSession, key string) bool // hides entries of lists, if it is not nil

	mu       sync.Mutex
	features map[string]map[string]feature // by the method of the list, and the key in it; guarded by mu
	sessions map[*fakeSession]bool         // guarded by mu
	requests []string                      // methods of requests and notifications; guarded by mu
}

// feature is a feature of a fake. handle returns its result.
type feature struct {
	def    object
	handle func(ctx context.Context, s *fakeSession, params jsontext.Value) (any, error)
}

func newFake() *fake {
	return &fake{features: make(map[string]map[string]feature), sessions: make(map[*fakeSession]bool)}
}

func (f *fake) Connect(id string, receive mirror.Receiver) (mirror.Session, error) {
	if f.connecting != nil {
		if err := f.connecting(); err != nil {
			return nil, err
		}
	}
	return f.open(&fakeSession{fake: f, id: id, receive: receive}), nil
}

func (f *fake) ConnectOnce(initialize jsontext.Value) (mirror.Session, error) {
	s := f.open(&fakeSession{fake: f})
	_, err := s.initialize(initialize)
	return s, err
}

func (f *fake) open(s *fakeSession) *fakeSession {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[s] = true
	return s
}

// set adds, replaces, or, without a definition, removes a feature. It notifies all sessions.
func (f *fake) set(list, notification, key string, one feature) {
	f.mu.Lock()
	if f.features[list] == nil {
		f.features[list] = make(map[string]feature)
	}
	f.features[list][key] = one
	if one.def == nil {
		delete(f.features[list], key)
	}
	f.mu.Unlock()
	f.notify(notification, object{})
}

func (f *fake) notify(method string, params any) {
	raw, _ := json.Marshal(params)
	f.mu.Lock()
	open := slices.Collect(maps.Keys(f.sessions))
	f.mu.Unlock()
	for _, s := range open {
		if s.receive != nil {
			s.receive(method, raw)
		}
	}
}

// requested returns how many requests and notifications of a method have arrived.
func (f *fake) requested(method string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.requests {
		if m == method {
			n++
		}
	}
	return n
}

// fakeSession is a session of a fake.
type fakeSession struct {
	fake    *fake
	id      string
	receive mirror.Receiver // nil for a single request
	about   struct {
		ProtocolVersion string                 `json:"protocolVersion"`
		ClientInfo      mcp.Implementation     `json:"clientInfo"`
		Capabilities    mcp.ClientCapabilities `json:"capabilities"`
	}
}

func (s *fakeSession) Close() {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	delete(s.fake.sessions, s)
}

func (s *fakeSession) Notify(_ context.Context, method string) { s.requested(method) }

func (s *fakeSession) requested(method string) {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	s.fake.requests = append(s.fake.requests, method)
}

func (s *fakeSession) Do(ctx context.Context, method string, params jsontext.Value) (jsontext.Value, error) {
	s.requested(method)
	result, err := s.handle(ctx, method, params)
	if err != nil {
		if e, ok := errors.AsType[*mcp.Error](err); ok {
			return nil, e
		}
		return nil, mirror.Error(-32603, err.Error(), nil)
	}
	return json.Marshal(result)
}

func (s *fakeSession) handle(ctx context.Context, method string, params jsontext.Value) (any, error) {
	var p struct {
		Name   string `json:"name"`
		URI    string `json:"uri"`
		Cursor string `json:"cursor"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	switch method {
	case mcp.MethodInitialize:
		return s.initialize(params)
	case mcp.MethodToolsList:
		return s.fake.page(s, method, "tools", p.Cursor), nil
	case mcp.MethodPromptsList:
		return s.fake.page(s, method, "prompts", p.Cursor), nil
	case mcp.MethodResourcesList:
		return s.fake.page(s, method, "resources", p.Cursor), nil
	case mcp.MethodResourceTemplatesList:
		return s.fake.page(s, method, "resourceTemplates", p.Cursor), nil
	case mcp.MethodToolsCall:
		return s.run(ctx, mcp.MethodToolsList, p.Name, params)
	case mcp.MethodPromptsGet:
		return s.run(ctx, mcp.MethodPromptsList, p.Name, params)
	case mcp.MethodResourcesRead:
		if strings.HasPrefix(p.URI, "note:///n/") {
			return s.run(ctx, mcp.MethodResourceTemplatesList, "note:///n/{id}", params)
		}
		return s.run(ctx, mcp.MethodResourcesList, p.URI, params)
	case mcp.MethodComplete:
		return object{"completion": object{"values": []string{"Ada"}}}, nil
	case mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		return object{}, nil
	}
	return nil, mirror.Error(-32601, method, nil)
}

func (s *fakeSession) initialize(params jsontext.Value) (any, error) {
	return object{
		"protocolVersion": "2025-11-25", "instructions": "Ask first.",
		"serverInfo":   object{"name": "notes", "title": "Notes", "version": "2.1.0"},
		"capabilities": object{"tools": object{}, "prompts": object{}, "completions": object{}, "resources": object{"subscribe": true}},
	}, json.Unmarshal(params, &s.about)
}

// page returns the page of a list after an entry. Each page has one.
func (f *fake) page(s *fakeSession, method, entries, after string) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	keys := slices.Sorted(maps.Keys(f.features[method]))
	keys = slices.DeleteFunc(keys, func(key string) bool { return f.hides != nil && f.hides(s, key) })
	i, found := slices.BinarySearch(keys, after)
	if found {
		i++
	}
	if i == len(keys) {
		return object{entries: []object{}}
	}
	result := object{entries: []object{f.features[method][keys[i]].def}}
	if i+1 < len(keys) {
		result["nextCursor"] = keys[i]
	}
	return result
}

func (s *fakeSession) run(ctx context.Context, list, key string, params jsontext.Value) (any, error) {
	s.fake.mu.Lock()
	one, ok := s.fake.features[list][key]
	s.fake.mu.Unlock()
	if !ok {
		return nil, mirror.Error(-32602, key+": unknown", nil)
	}
	return one.handle(ctx, s, params)
}

// fakeCaller is the client of a call, for its handler.
type fakeCaller struct{ s *fakeSession }

func (c fakeCaller) Session(context.Context) (id, client string) {
	return c.s.id, c.s.about.ClientInfo.Name
}

func (c fakeCaller) Name(ctx context.Context, message string) (string, error) {
	var answer struct{ Content struct{ Name string } }
	err := ask(ctx, mcp.MethodElicit, object{"message": message, "requestedSchema": nameSchema}, &answer)
	return answer.Content.Name, err
}

var nameSchema = jsontext.Value(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)

func (c fakeCaller) Root(ctx context.Context) (string, error) {
	var answer struct{ Roots []mcp.Root }
	if err := ask(ctx, mcp.MethodRootsList, object{}, &answer); err != nil {
		return "", err
	}
	return answer.Roots[0].URI, nil
}

func (c fakeCaller) Sample(ctx context.Context, text string) (string, error) {
	var answer struct{ Content []object }
	message := object{"role": "user", "content": object{"type": "text", "text": text}}
	if err := ask(ctx, mcp.MethodCreateMessage, object{"maxTokens": 10, "messages": []object{message}}, &answer); err != nil {
		return "", err
	}
	return answer.Content[0]["text"].(string), nil
}

func ask(ctx context.Context, method string, params, answer any) error {
	call := mirror.CallFrom(ctx)
	if call == nil {
		return mirror.ErrNoCall
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if raw, err = call.Ask(method, raw); err != nil {
		return err
	}
	return json.Unmarshal(raw, answer, json.MatchCaseInsensitiveNames(true))
}

func (c fakeCaller) Progress(ctx context.Context, message string) error {
	return notify(ctx, mcp.NotificationProgress, object{"progressToken": mirror.CallFrom(ctx).Token, "progress": 1, "total": 2, "message": message})
}

func (c fakeCaller) Log(ctx context.Context, text string) error {
	return notify(ctx, mcp.NotificationMessage, object{"level": "warning", "data": text})
}

func notify(ctx context.Context, method string, params object) error {
	raw, err := json.Marshal(params)
	mirror.CallFrom(ctx).Notify(method, raw)
	return err
}

func (c fakeCaller) LogToSession(_ context.Context, text string) error {
	raw, err := json.Marshal(object{"level": "warning", "data": text})
	c.s.receive(mcp.NotificationMessage, raw)
	return err
}

var _ mirrortest.Caller = fakeCaller{}
