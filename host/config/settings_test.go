package config_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
)

func TestOwnSettingsStandInOneMember(t *testing.T) {
	t.Parallel()
	tests := map[string]host.Settings{
		`{}`:                           {},
		`{"share": true}`:              {Share: true},
		`{"lazy": true, "idle": "5m"}`: {Lazy: true, Idle: 5 * time.Minute},
		`{"allow": ["a"], "deny": ["b"], "confirm": "always"}`: {
			Rules: host.Rules{Allow: []string{"a"}, Deny: []string{"b"}, Confirm: []host.ConfirmRule{{Tools: "*", When: host.Always}}},
		},
		`{"confirm": {"z*": "never", "a*": "always", "*": "destructive"}}`: {
			Rules: host.Rules{Confirm: []host.ConfirmRule{{Tools: "z*", When: host.Never}, {Tools: "a*", When: host.Always}, {Tools: "*", When: host.Destructive}}},
		},
	}
	for text, want := range tests {
		path := write(t, t.TempDir(), "mcp.json", fmt.Sprintf(`{"mcpServers": {"x": {"command": "y", "fondaco": %s}}}`, text))
		c, err := config.Load(path, env(nil))
		if err != nil || len(c.Notes) != 0 || !reflect.DeepEqual(c.Upstreams[0].Settings, want) {
			t.Errorf("%s: got %+v, %v, want %+v", text, c, err, want)
		}
	}
}

func TestMistakesInOwnSettingsAreTold(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{"shared": true}`:      `/mcpServers/x/fondaco`,
		`{"share": "yes"}`:      `/mcpServers/x/fondaco/share: found a string, want a boolean`,
		`{"idle": "soon"}`:      `/mcpServers/x/fondaco/idle: found "soon", want a duration`,
		`{"idle": "-5m"}`:       `/mcpServers/x/fondaco/idle: found "-5m", want a duration`,
		`{"confirm": "maybe"}`:  `/mcpServers/x/fondaco/confirm: confirm "*": found "maybe"`,
		`{"confirm": {"*": 1}}`: `/mcpServers/x/fondaco/confirm`,
		`{"confirm": ["x"]}`:    `/mcpServers/x/fondaco/confirm: found an array, want an object`,
		`{"deny": {"a": "b"}}`:  `/mcpServers/x/fondaco/deny: found an object, want an array`,
	}
	for text, want := range tests {
		path := write(t, t.TempDir(), "mcp.json", fmt.Sprintf(`{"mcpServers": {"x": {"command": "y", "fondaco": %s}}}`, text))
		if _, err := config.Load(path, env(nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
