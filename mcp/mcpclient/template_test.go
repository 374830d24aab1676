package mcpclient_test

import (
	"slices"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestTemplateOfResourcesIsExpanded(t *testing.T) {
	t.Parallel()
	const template = "log://{host}/{+path}{?level,since}"
	if names, err := mcpclient.TemplateVariables(template); err != nil || !slices.Equal(names, []string{"host", "path", "level", "since"}) {
		t.Errorf("got %q, %v, want the variables in their order", names, err)
	}
	uri, err := mcpclient.ExpandTemplate(template, map[string]string{"host": "a b", "path": "var/log", "since": "1&2", "other": "x"})
	if want := "log://a%20b/var/log?since=1%262"; err != nil || uri != want {
		t.Errorf("got %q, %v, want %q", uri, err, want)
	}
	if uri, err := mcpclient.ExpandTemplate("log:/{/path*}", map[string]string{"path": "var,log"}); err != nil || uri != "log://var/log" {
		t.Errorf("got %q, %v, want the items of a list", uri, err)
	}
	for _, wrong := range []string{"log://{", "log://{a b}"} {
		if _, err := mcpclient.ExpandTemplate(wrong, nil); err == nil {
			t.Errorf("%q: got no error, want one", wrong)
		}
		if _, err := mcpclient.TemplateVariables(wrong); err == nil {
			t.Errorf("%q: got no error, want one", wrong)
		}
	}
}
