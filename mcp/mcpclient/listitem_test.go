package mcpclient_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Each list has a good item before and after the bad ones.
func TestBadItemOfAListIsLeftOutAlone(t *testing.T) {
	t.Parallel()
	const good = `{"name":"%[1]s","uri":"a://%[1]s","uriTemplate":"a://%[1]s/{x}","inputSchema":{"type":"object"}}`
	for name, bad := range map[string]string{
		"a text":                   `"tool"`,
		"a number":                 `7`,
		"an array":                 `[{"name":"x"}]`,
		"null":                     `null`,
		"an empty object":          `{}`,
		"no name":                  `{"title":"x"}`,
		"a name of another type":   `{"name":7,"uri":7,"uriTemplate":7}`,
		"a title of another type":  `{"name":"x","uri":"a://x","uriTemplate":"a://x","title":{"en":"x"}}`,
		"metadata of another type": `{"name":"x","uri":"a://x","uriTemplate":"a://x","_meta":[]}`,
		"icons of another type":    `{"name":"x","uri":"a://x","uriTemplate":"a://x","icons":"x.png"}`,
	} {
		for era, handler := range eras(func(_ *script, m message) string {
			items := map[string]string{
				mcp.MethodToolsList: "tools", mcp.MethodPromptsList: "prompts",
				mcp.MethodResourcesList: "resources", mcp.MethodResourceTemplatesList: "resourceTemplates",
			}[m.Method]
			return m.result(fmt.Sprintf(`{"%s":[%s,%s,%s,%s]}`, items, fmt.Sprintf(good, "first"), bad, bad, fmt.Sprintf(good, "last")))
		}) {
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				_, target := serve(t, handler)
				var log lockedLog
				c := connect(t, target, &mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				var got []string
				add := func(name string, err error) {
					if err != nil {
						t.Error(err)
					}
					got = append(got, name)
				}
				for tool, err := range c.Tools(t.Context()) {
					add(tool.Name, err)
				}
				for prompt, err := range c.Prompts(t.Context()) {
					add(prompt.Name, err)
				}
				for resource, err := range c.Resources(t.Context()) {
					add(resource.Name, err)
				}
				for template, err := range c.Templates(t.Context()) {
					add(template.Name, err)
				}
				if want := slices.Repeat([]string{"first", "last"}, 4); !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
				if got := strings.Count(log.String(), "left out of a list"); got != 4 {
					t.Errorf("got %d lines in the log %s, want one for each list", got, log.String())
				}
			})
		}
	}
}

// A hint that is not given has a default.
func TestBadHintOfAListIsLeftOutAlone(t *testing.T) {
	t.Parallel()
	for name, members := range map[string]string{
		"annotation":          `"tools":[{"name":"a","annotations":{"title":"A","readOnlyHint":"yes","destructiveHint":false}},{"name":"b"}]`,
		"annotations":         `"tools":[{"name":"a","annotations":"read only"},{"name":"b"}]`,
		"time to live":        `"ttlMs":"1h","tools":[{"name":"a"},{"name":"b"}]`,
		"scope of the cache":  `"cacheScope":1,"tools":[{"name":"a"},{"name":"b"}]`,
		"cursor":              `"nextCursor":7,"tools":[{"name":"a"},{"name":"b"}]`,
		"cursor that is null": `"nextCursor":null,"tools":[{"name":"a"},{"name":"b"}]`,
		"metadata":            `"_meta":"x","tools":[{"name":"a"},{"name":"b"}]`,
	} {
		for era, handler := range eras(func(_ *script, m message) string { return m.result("{" + members + "}") }) {
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				_, target := serve(t, handler)
				c := connect(t, target, nil)
				got, err := names(t, c)
				if err != nil || !slices.Equal(got, []string{"a", "b"}) {
					t.Errorf("got %q, %v, want both tools", got, err)
				}
				for tool := range c.Tools(t.Context()) {
					if tool.Name == "a" && tool.Annotations.ReadOnly() {
						t.Error("got a tool that is read-only, want the default")
					}
					if name == "annotation" && tool.Name == "a" && (tool.Annotations.Title != "A" || tool.Annotations.Destructive()) {
						t.Errorf("got %+v, want the good hints kept", tool.Annotations)
					}
				}
			})
		}
	}
}

// There is nothing to keep of such a result.
func TestListWithoutItemsIsAnError(t *testing.T) {
	t.Parallel()
	for _, result := range []string{`{"tools":{"a":{}}}`, `{"tools":"none"}`, `[]`} {
		_, target := serve(t, stateless(func(_ *script, m message) string { return m.result(result) }))
		c := connect(t, target, nil)
		if got, err := names(t, c); err == nil || len(got) > 0 {
			t.Errorf("%s: got %q and no error, want one", result, got)
		}
	}
}
