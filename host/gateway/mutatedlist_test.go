package gateway_test

import (
	"encoding/json/jsontext"
	"regexp"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// mutableLists are pages with all parts, by method. The item "kept" is not mutated.
var mutableLists = map[string]struct{ member, item, listed, kept, rest string }{
	mcp.MethodToolsList: {
		"tools", `{"name":"a","title":"A","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]},"outputSchema":{"type":"object"},` +
			`"annotations":{"title":"A","readOnlyHint":true},"execution":{"taskSupport":"optional"},"icons":[{"src":"https://x.example/y.png","sizes":["48x48"]}],"_meta":{"a":1}}`,
		`"o__a"`, `{"name":"kept","inputSchema":{"type":"object"}}`, `"ttlMs":5,"cacheScope":"private","_meta":{"a":1}`,
	},
	mcp.MethodPromptsList: {
		"prompts", `{"name":"a","title":"A","description":"d","arguments":[{"name":"x","title":"X","description":"d","required":true}],"icons":[{"src":"https://x.example/y.png"}],"_meta":{"a":1}}`,
		`"o__a"`, `{"name":"kept"}`, `"ttlMs":5,"cacheScope":"private","_meta":{"a":1}`,
	},
	mcp.MethodResourcesList: {
		"resources", `{"uri":"odd://b","name":"b","title":"B","description":"d","mimeType":"text/plain","size":1,"annotations":{"audience":["user"],"priority":0.5},"icons":[{"src":"https://x.example/y.png"}],"_meta":{"a":1}}`,
		`odd://b`, `{"uri":"odd://kept","name":"kept"}`, `"ttlMs":5,"cacheScope":"private","_meta":{"a":1}`,
	},
	mcp.MethodResourceTemplatesList: {
		"resourceTemplates", `{"uriTemplate":"odd://t/{x}","name":"b","title":"B","description":"d","mimeType":"text/plain","annotations":{"priority":0.5},"icons":[{"src":"https://x.example/y.png"}],"_meta":{"a":1}}`,
		`odd://t/`, `{"uriTemplate":"odd://kept/{x}","name":"kept"}`, `"ttlMs":5,"cacheScope":"private","_meta":{"a":1}`,
	},
}

// listMutations are fewer than mutations, because each takes a host of its own.
var listMutations = []string{`null`, `"x"`, `7.5`, `["x",null]`}

// needed matches the parts without which an item is none: its name or URI, and the type of the arguments of a tool.
var needed = regexp.MustCompile(`^/\w+/0( |/(name|uri|uriTemplate|inputSchema|inputSchema/type) )`)

// No part of a list, whatever is in its place, costs the client more than this part: not the item, if it can be used
// without, and never the list.
func TestNoPartOfAListCostsTheOthers(t *testing.T) {
	t.Parallel()
	for method, parts := range mutableLists {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			for server, client := range map[mcp.Revision]mcp.Revision{mcp.V20251125: mcp.V20260728, mcp.V20260728: mcp.V20251125} {
				try := func(path string, changed jsontext.Value) {
					if strings.HasSuffix(path, `/uri "x"`) { // not judged
						return
					}
					g := start(t, host.Upstream{Key: "o", Target: mcpclient.InProcess(&oddServer{server, oddResults{method: string(changed)}.of})})
					c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{client}})
					var got jsontext.Value
					if err := c.Request(t.Context(), method, nil, &got); err != nil || !strings.Contains(string(got), "kept") {
						t.Errorf("%s of %s: %s: got %s, %v, want what is kept", client, server, path, got, err)
					} else if strings.HasPrefix(path, "/"+parts.member+"/0/") && !needed.MatchString(path) && !strings.Contains(string(got), parts.listed) {
						t.Errorf("%s of %s: %s: got %s, want the item too", client, server, path, got)
					}
				}
				mutate(jsontext.Value(`[`+parts.item+`]`), listMutations, "/"+parts.member, func(path string, changed jsontext.Value) {
					if changed.Kind() == '[' {
						elements := strings.TrimSuffix(strings.TrimPrefix(string(changed), "["), "]")
						try(path, jsontext.Value(`{"`+parts.member+`":[`+strings.TrimPrefix(elements+`,`, ",")+parts.kept+`],`+parts.rest+`}`))
					}
				})
				mutate(jsontext.Value(`{`+parts.rest+`}`), listMutations, "", func(path string, changed jsontext.Value) {
					if changed.Kind() == '{' {
						members := strings.TrimSuffix(strings.TrimPrefix(string(changed), "{"), "}")
						try(path, jsontext.Value(`{`+strings.TrimPrefix(members+`,`, ",")+`"`+parts.member+`":[`+parts.kept+`]}`))
					}
				})
			}
		})
	}
}
