package config_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
)

func TestOwnSettingsAreInOneMember(t *testing.T) {
	t.Parallel()
	tests := map[string]host.Settings{
		`{}`:                           {},
		`{"share": true}`:              {Share: true},
		`{"lazy": true, "idle": "5m"}`: {Lazy: true, Idle: 5 * time.Minute},
		`{"allow": ["a"], "deny": ["b"], "confirm": "always"}`: {
			Rules: host.Rules{Allow: []string{"a"}, Deny: []string{"b"}, Confirm: []host.ConfirmRule{{Tools: "*", When: host.Always}}},
		},
		`{"roots": true, "sampling": false, "elicitation": false, "secrets": false}`: {Questions: host.QuestionRules{
			Roots: host.PermissionGranted, Sampling: host.PermissionRefused, Elicitation: host.PermissionRefused, Secrets: host.PermissionRefused,
		}},
		`{"auditArguments": "write_*"}`: {AuditArguments: []string{"write_*"}},
		`{"confirm": {"z*": "never", "a*": "always", "*": "destructive"}}`: {
			Rules: host.Rules{Confirm: []host.ConfirmRule{{Tools: "z*", When: host.Never}, {Tools: "a*", When: host.Always}, {Tools: "*", When: host.Destructive}}},
		},
	}
	for text, want := range tests {
		path := write(t, t.TempDir(), "mcp.json", fmt.Sprintf(`{"mcpServers": {"x": {"command": "y", "fondaco": %s}}}`, text))
		c, err := load(path, nil)
		if err != nil || len(c.Warnings) != 0 || !reflect.DeepEqual(c.Upstreams[0].Settings, want) {
			t.Errorf("%s: got %+v, %v, want %+v", text, c, err, want)
		}
	}
}
