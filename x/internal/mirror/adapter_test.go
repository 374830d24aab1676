package mirror_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/x/internal/mirror"
	"github.com/fondaco/fondaco/x/internal/mirror/mirrortest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

// TestForeignServer runs the tests of adapters with a foreign server that has no SDK.
func TestForeignServer(t *testing.T) {
	var singles mirror.Singles[*fake]
	singles.New = newFake
	mirrortest.Run(t, mirrortest.Adapter{
		New: func() mirrortest.Other { return newFake() },
		Tool: func(server *mcpserver.Server, name string, h mirrortest.Handler) {
			must(singles.Tool(server, encode(toolDef(name)), func(f *fake) { f.AddTool(name, h) }))
		},
		Prompt: func(server *mcpserver.Server, name string, h mirrortest.Text) {
			must(singles.Prompt(server, encode(promptDef(name)), func(f *fake) { f.AddPrompt(name, h) }))
		},
		Resource: func(server *mcpserver.Server, uri string, h mirrortest.Text) {
			must(singles.Resource(server, encode(object{"uri": uri, "name": uri}), func(f *fake) { f.AddResource(uri, h) }))
		},
		Template: func(server *mcpserver.Server, uri string, h mirrortest.Text) {
			must(singles.Template(server, encode(object{"uriTemplate": uri, "name": uri}), func(f *fake) { f.AddTemplate(uri, h) }))
		},
	})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func encode(v any) jsontext.Value {
	raw, err := json.Marshal(v)
	must(err)
	return raw
}

func toolDef(name string) object {
	schema := object{"type": "object", "properties": object{"text": object{"type": "string"}}}
	return object{"name": name, "description": "Returns a text", "inputSchema": schema}
}

func promptDef(name string) object {
	return object{"name": name, "arguments": []object{{"name": "who", "required": true}}}
}

func (f *fake) AddTool(name string, h mirrortest.Handler) {
	f.set(mcp.MethodToolsList, mcp.NotificationToolsListChanged, name, feature{toolDef(name), func(ctx context.Context, s *fakeSession, params jsontext.Value) (any, error) {
		var p struct{ Arguments struct{ Text string } }
		if err := json.Unmarshal(params, &p, json.MatchCaseInsensitiveNames(true)); err != nil {
			return nil, err
		}
		text, err := h(ctx, fakeCaller{s}, p.Arguments.Text)
		return object{"content": []object{{"type": "text", "text": text}}}, err
	}})
}

func (f *fake) RemoveTool(name string) {
	f.set(mcp.MethodToolsList, mcp.NotificationToolsListChanged, name, feature{})
}

func (f *fake) AddPrompt(name string, h mirrortest.Text) {
	f.set(mcp.MethodPromptsList, mcp.NotificationPromptsListChanged, name, feature{promptDef(name), func(_ context.Context, _ *fakeSession, params jsontext.Value) (any, error) {
		var p struct{ Arguments struct{ Who string } }
		err := json.Unmarshal(params, &p, json.MatchCaseInsensitiveNames(true))
		content := object{"type": "text", "text": h(p.Arguments.Who)}
		return object{"messages": []object{{"role": "user", "content": content}}}, err
	}})
}

func (f *fake) AddResource(uri string, h mirrortest.Text) {
	f.set(mcp.MethodResourcesList, mcp.NotificationResourcesListChanged, uri, feature{object{"uri": uri, "name": uri}, read(h)})
}

func (f *fake) AddTemplate(uri string, h mirrortest.Text) {
	f.set(mcp.MethodResourceTemplatesList, mcp.NotificationResourcesListChanged, uri, feature{object{"uriTemplate": uri, "name": uri}, read(h)})
}

func read(h mirrortest.Text) func(context.Context, *fakeSession, jsontext.Value) (any, error) {
	return func(_ context.Context, _ *fakeSession, params jsontext.Value) (any, error) {
		var p struct{ URI string }
		err := json.Unmarshal(params, &p, json.MatchCaseInsensitiveNames(true))
		return object{"contents": []object{{"uri": p.URI, "text": h(p.URI)}}}, err
	}
}

func (f *fake) Updated(uri string) {
	f.notify(mcp.NotificationResourceUpdated, object{"uri": uri})
}

func (f *fake) Sessions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.sessions)
}

func (f *fake) Mount(server *mcpserver.Server, onError func(error), features ...mcpserver.Option) (func(), error) {
	return mirror.Mount(server, f, mirror.Options{Features: features, OnError: onError})
}

func (f *fake) NewServer(own *mcpserver.Options) (*mcpserver.Server, error) {
	return mirror.NewServer(f, own, mirror.Options{})
}
