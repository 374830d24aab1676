package host_test

import (
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

func TestRulesDecideOnTools(t *testing.T) {
	var (
		reads    = &mcp.ToolAnnotations{ReadOnlyHint: new(true)}
		adds     = &mcp.ToolAnnotations{DestructiveHint: new(false)}
		careful  = []host.ConfirmRule{{Tools: "read_*", When: host.Never}, {Tools: "*", When: host.Always}}
		guarding = []host.ConfirmRule{{Tools: "*", When: host.Destructive}}
	)
	tests := []struct {
		rules host.Rules
		tool  mcp.Tool
		want  host.Verdict
	}{
		{host.Rules{}, mcp.Tool{Name: "x"}, host.Allow},
		{host.Rules{Allow: []string{"read_*"}}, mcp.Tool{Name: "read_file"}, host.Allow},
		{host.Rules{Allow: []string{"read_*"}}, mcp.Tool{Name: "write_file"}, host.Deny},
		{host.Rules{Allow: []string{"read_*"}}, mcp.Tool{Name: "write_file", Annotations: reads}, host.Deny},
		{host.Rules{Allow: []string{"*"}, Deny: []string{"*_all"}}, mcp.Tool{Name: "delete_all"}, host.Deny},
		{host.Rules{Deny: []string{"*"}}, mcp.Tool{Name: "a/b\nc"}, host.Deny},
		{host.Rules{Deny: []string{"delete"}}, mcp.Tool{Name: "delete_all"}, host.Allow},
		{host.Rules{Deny: []string{"d?l*e"}}, mcp.Tool{Name: "delete"}, host.Deny},
		{host.Rules{Deny: []string{"Delete"}}, mcp.Tool{Name: "delete"}, host.Allow},
		{host.Rules{Confirm: careful}, mcp.Tool{Name: "read_file"}, host.Allow},
		{host.Rules{Confirm: careful}, mcp.Tool{Name: "file", Annotations: reads}, host.Confirm},
		{host.Rules{Confirm: guarding}, mcp.Tool{Name: "file"}, host.Confirm},
		{host.Rules{Confirm: guarding}, mcp.Tool{Name: "file", Annotations: adds}, host.Allow},
		{host.Rules{Confirm: []host.ConfirmRule{{Tools: "*", When: "sometimes"}}}, mcp.Tool{Name: "x"}, host.Confirm},
	}
	for _, test := range tests {
		if got := test.rules.Verdict(&test.tool); got != test.want {
			t.Errorf("%+v of %q: got %v, want %v", test.rules, test.tool.Name, got, test.want)
		}
	}
}

func TestRuleThatMakesNoSenseIsReported(t *testing.T) {
	good := host.Rules{Confirm: []host.ConfirmRule{{Tools: "*", When: host.Always}}}
	bad := host.Rules{Confirm: []host.ConfirmRule{{Tools: "*", When: "maybe"}}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	if err := bad.Check(); err == nil || err.Error() != `confirm "*": found "maybe", want "never", "destructive" or "always"` {
		t.Errorf("got %v, want the fault and what would be right", err)
	}
}

func TestPatternsWithManyStarsMatchFast(t *testing.T) {
	rules := host.Rules{Deny: []string{"*a*a*a*a*a*a*a*a*a*a*b"}}
	name := make([]byte, 10_000)
	for i := range name {
		name[i] = 'a'
	}
	if got := rules.Verdict(&mcp.Tool{Name: string(name)}); got != host.Allow {
		t.Errorf("got %v, want no match", got)
	}
}
