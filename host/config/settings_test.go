package config_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
)

func TestStartupTimeoutsOfOtherProgramsCount(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]time.Duration{
		`"startup_timeout_sec": 45`:                                      45 * time.Second,
		`"startup_timeout_sec": 0.5`:                                     500 * time.Millisecond,
		`"startup_timeout_ms": 90000`:                                    90 * time.Second,
		`"fondaco": {"startupTimeout": "3m"}, "startup_timeout_sec": 20`: 3 * time.Minute,
		`"startup_timeout_sec": 20, "fondaco": {"startupTimeout": "3m"}`: 3 * time.Minute,
		`"startup_timeout_sec": 0`:                                       -1,
		`"startup_timeout_sec": "20"`:                                    -1,
		`"startup_timeout_ms": -5`:                                       -1,
		`"startup_timeout_sec": 1e300`:                                   -1,
		`"fondaco": {"startupTimeout": "0s"}`:                            -1,
		`"fondaco": {"startupTimeout": 20}`:                              -1,
	} {
		path := write(t, t.TempDir(), "mcp.json", fmt.Sprintf(`{"mcpServers": {"x": {"command": "y", %s}}}`, members))
		c, err := load(path, nil)
		switch {
		case want < 0:
			if err == nil && len(c.Errors) == 0 {
				t.Errorf("%s: got %+v, want an error", members, c.Upstreams)
			}
		case err != nil || len(c.Warnings) != 0 || c.Upstreams[0].Settings.StartupTimeout != want:
			t.Errorf("%s: got %+v, %v, want %v", members, c, err, want)
		}
	}
}

func TestOwnSettingsAreInOneMember(t *testing.T) {
	t.Parallel()
	tests := map[string]host.Settings{
		`{}`:                           {},
		`{"share": true}`:              {Share: true},
		`{"lazy": true, "idle": "5m"}`: {Lazy: true, Idle: 5 * time.Minute},
		`{"startupTimeout": "5m"}`:     {StartupTimeout: 5 * time.Minute},
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
