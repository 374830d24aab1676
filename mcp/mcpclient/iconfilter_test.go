package mcpclient_test

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestIconsThatAreNoneAreLeftOut(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-357a")
	const icons = `"icons":[{"src":"javascript:alert(1)"},{"src":"https://example.com/i.png"},{"src":"file:///etc/passwd"}]`
	_, target := serve(t, func(_ *script, m message) string {
		switch m.Method {
		case mcp.MethodDiscover:
			return m.result(`{"supportedVersions":["2026-07-28"],"capabilities":` + everything + `,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1",` + icons + `}}}`)
		case mcp.MethodToolsList:
			return m.result(`{"tools":[{"name":"t","inputSchema":{"type":"object"},` + icons + `}]}`)
		case mcp.MethodPromptsList:
			return m.result(`{"prompts":[{"name":"p",` + icons + `}]}`)
		case mcp.MethodResourcesList:
			return m.result(`{"resources":[{"uri":"a://1","name":"r",` + icons + `}]}`)
		}
		return m.result(`{"resourceTemplates":[{"uriTemplate":"a://{x}","name":"r",` + icons + `}]}`)
	})
	c := connect(t, target, nil)
	all := map[string][]mcp.Icon{"server": c.Server().Icons}
	for tool := range c.Tools(t.Context()) {
		all["tool"] = tool.Icons
	}
	for prompt := range c.Prompts(t.Context()) {
		all["prompt"] = prompt.Icons
	}
	for resource := range c.Resources(t.Context()) {
		all["resource"] = resource.Icons
	}
	for template := range c.Templates(t.Context()) {
		all["template"] = template.Icons
	}
	if len(all) != 5 {
		t.Errorf("got %v, want icons of five things", all)
	}
	for of, icons := range all {
		if len(icons) != 1 || icons[0].Src != "https://example.com/i.png" {
			t.Errorf("%s: got %v, want the one that is an icon", of, icons)
		}
	}
}
