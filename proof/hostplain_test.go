//go:build hostile && linux

package proof

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"iter"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// plainSurfaceAlone returns the plainSurface of a host that has no other server.
func plainSurfaceAlone(t *testing.T) string {
	t.Helper()
	u := newHostUser(t)
	h := u.up("--config", u.write(".config/fondaco/mcp.json", `{"mcpServers": {"plain": `+u.server("plain")+`}}`), "--yes")
	h.await(`plain +ready`)
	defer h.end()
	surface, _ := plainSurface(t, h.connect(nil))
	for _, part := range []string{`"plain__greet"`, `"plain__hail"`, `"plain://one"`, `"plain://of/{name}"`} {
		if !strings.Contains(surface, part) {
			t.Fatalf("got %s, want %s in it", surface, part)
		}
	}
	return surface
}

// plainSurface returns all that a client of a host sees of the server "plain", and the bytes of the
// descriptions of all tools.
func plainSurface(t *testing.T, c *mcpclient.Client) (surface string, bytes int) {
	t.Helper()
	var plain struct {
		Tools     []mcp.Tool
		Prompts   []mcp.Prompt
		Resources []mcp.Resource
		Templates []mcp.ResourceTemplate
	}
	fresh := mcpclient.NoCache()
	for _, tool := range listedAll(t, c.Tools(t.Context(), fresh)) {
		bytes += len(tool.Description)
		if strings.HasPrefix(tool.Name, "plain__") {
			plain.Tools = append(plain.Tools, tool)
		}
	}
	for _, p := range listedAll(t, c.Prompts(t.Context(), fresh)) {
		if strings.HasPrefix(p.Name, "plain__") {
			plain.Prompts = append(plain.Prompts, p)
		}
	}
	for _, r := range listedAll(t, c.Resources(t.Context(), fresh)) {
		if strings.Contains(r.URI, "plain") {
			plain.Resources = append(plain.Resources, r)
		}
	}
	for _, template := range listedAll(t, c.Templates(t.Context(), fresh)) {
		if strings.Contains(template.URITemplate, "plain") {
			plain.Templates = append(plain.Templates, template)
		}
	}
	text, err := json.Marshal(plain, json.Deterministic(true), jsontext.WithIndent(" "))
	must(t, err)
	return string(text), bytes
}

// listedAll returns the entries of a list.
func listedAll[T any](t *testing.T, list iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for entry, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry)
	}
	return all
}

// usePlain uses a prompt, a resource and a template of the server "plain".
func usePlain(t *testing.T, c *mcpclient.Client) {
	t.Helper()
	if prompt, err := c.GetPrompt(t.Context(), "plain__hail", nil); err != nil || len(prompt.Messages) != 1 {
		t.Fatalf("got %+v, %v, want the other server's prompt", prompt, err)
	}
	for _, uri := range []string{"plain://one", "plain://of/two"} {
		if read, err := c.ReadResource(t.Context(), uri); err != nil || read.Contents[0].Text != "plain" {
			t.Fatalf("%s: got %+v, %v, want the other server's resource", uri, read, err)
		}
	}
}
