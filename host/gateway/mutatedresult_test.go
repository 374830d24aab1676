package gateway_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// mutations are values in place of those that a result should have.
var mutations = []string{`null`, `"x"`, `""`, `7.5`, `true`, `[]`, `["x",null]`, `[{}]`, `{"my key":1}`}

// mutate yields the texts of a value in which one part is replaced by each of some values, or left out, with the path
// of the part.
func mutate(raw jsontext.Value, mutations []string, path string, yield func(path string, changed jsontext.Value)) {
	for _, m := range mutations {
		yield(path+" "+m, jsontext.Value(m))
	}
	switch raw.Kind() {
	case '{':
		var members map[string]jsontext.Value
		if json.Unmarshal(raw, &members) != nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			with := func(path string, value jsontext.Value) {
				changed := maps.Clone(members)
				if delete(changed, name); value != nil {
					changed[name] = value
				}
				text, _ := json.Marshal(changed, json.Deterministic(true))
				yield(path, text)
			}
			with(path+"/"+name+" absent", nil)
			mutate(members[name], mutations, path+"/"+name, with)
		}
	case '[':
		var elements []jsontext.Value
		if json.Unmarshal(raw, &elements) != nil {
			return
		}
		for i := range elements {
			mutate(elements[i], mutations, path+"/"+strconv.Itoa(i), func(path string, value jsontext.Value) {
				changed := slices.Clone(elements)
				changed[i] = value
				text, _ := json.Marshal(changed)
				yield(path, text)
			})
		}
	}
}

// mutableResults are results with all parts, by method. The text "kept" is in an element that is not mutated.
var mutableResults = map[string]struct{ member, element, kept, rest string }{
	mcp.MethodToolsCall: {
		"content", `{"type":"text","text":"a","annotations":{"audience":["user"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"},"_meta":{"a":1}},` +
			`{"type":"image","data":"eA==","mimeType":"image/png"},{"type":"audio","data":"eA==","mimeType":"audio/wav"},` +
			`{"type":"resource_link","uri":"odd://l","name":"l","title":"L","description":"d","mimeType":"text/plain","size":1,"icons":[{"src":"https://x.example/y.png","mimeType":"image/png","sizes":["48x48"],"theme":"dark"}]},` +
			`{"type":"resource","resource":{"uri":"odd://e","mimeType":"text/plain","text":"e","_meta":{"a":1}}},{"type":"resource","resource":{"uri":"odd://f","blob":"eA=="}}`,
		`{"type":"text","text":"kept"}`, `"structuredContent":{"a":1},"isError":false,"_meta":{"a":1}`,
	},
	mcp.MethodResourcesRead: {
		"contents", `{"uri":"odd://a","mimeType":"text/plain","text":"a","_meta":{"a":1}},{"uri":"odd://b","blob":"eA=="}`,
		`{"uri":"odd://c","text":"kept"}`, `"ttlMs":5,"cacheScope":"private","_meta":{"a":1}`,
	},
	mcp.MethodPromptsGet: {
		"messages", `{"role":"user","content":{"type":"text","text":"a"}},{"role":"assistant","content":{"type":"image","data":"eA==","mimeType":"image/png"}}`,
		`{"role":"user","content":{"type":"text","text":"kept"}}`, `"description":"d","_meta":{"a":1}`,
	},
	mcp.MethodComplete: {"values", `"a"`, `"kept"`, `"total":2,"hasMore":false`},
}

// notJudged matches what is passed on although clients may not know it: roles, and types of content.
var notJudged = regexp.MustCompile(`/(role|type) ".`)

// No part of a result, whatever is in its place, costs the client more than this part.
func TestNoPartOfAResultCostsTheOthers(t *testing.T) {
	t.Parallel()
	for method, parts := range mutableResults {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			for server, client := range map[mcp.Revision]mcp.Revision{mcp.V20251125: mcp.V20260728, mcp.V20260728: mcp.V20251125} {
				var result atomic.Pointer[string]
				srv := &oddServer{revision: server, result: func(asked string) (string, bool) {
					if asked != method {
						return "", false
					}
					return *result.Load(), true
				}}
				g := start(t, host.Upstream{Key: "o", Target: mcpclient.InProcess(srv)})
				c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{client}})
				try := func(path string, changed jsontext.Value) {
					if notJudged.MatchString(path) {
						return
					}
					text := string(changed)
					if method == mcp.MethodComplete {
						text = `{"completion":` + text + `}`
					}
					result.Store(&text)
					var got jsontext.Value
					if err := c.Request(t.Context(), method, oddParams[method], &got); err != nil || !strings.Contains(string(got), "kept") {
						t.Errorf("%s of %s: %s: got %s, %v, want what is kept", client, server, path, got, err)
					}
				}
				mutate(jsontext.Value(`[`+parts.element+`]`), mutations, "/"+parts.member, func(path string, changed jsontext.Value) {
					if changed.Kind() == '[' { // otherwise it is the list itself that is replaced
						elements := strings.TrimSuffix(strings.TrimPrefix(string(changed), "["), "]")
						try(path, jsontext.Value(`{"`+parts.member+`":[`+strings.TrimPrefix(elements+`,`, ",")+parts.kept+`],`+parts.rest+`}`))
					}
				})
				mutate(jsontext.Value(`{`+parts.rest+`}`), mutations, "", func(path string, changed jsontext.Value) {
					if changed.Kind() == '{' {
						members := strings.TrimSuffix(strings.TrimPrefix(string(changed), "{"), "}")
						try(path, jsontext.Value(`{`+strings.TrimPrefix(members+`,`, ",")+`"`+parts.member+`":[`+parts.kept+`]}`))
					}
				})
			}
		})
	}
}
