package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
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

// The unit is the one that the client of the file documents.
func TestTimeoutsOfOtherProgramsCount(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file, members string
		want          time.Duration
		warning       string
	}{
		{".mcp.json", `"timeout": 90000`, 90 * time.Second, ""},
		{".claude.json", `"timeout": 1500`, 1500 * time.Millisecond, ""},
		{".mcp.json", `"timeout": 90`, 0, "found 90, want at least a second, in the unit of Claude Code"},
		{"saoudrizwan.claude-dev/settings/cline_mcp_settings.json", `"timeout": 90`, 90 * time.Second, ""},
		{".roo/mcp.json", `"timeout": 90`, 90 * time.Second, ""},
		{".gemini/settings.json", `"timeout": 90000`, 90 * time.Second, ""},
		{".copilot/mcp-config.json", `"timeout": 90000`, 90 * time.Second, ""},
		{".amazonq/mcp.json", `"timeout": 90000`, 90 * time.Second, ""},
		{".kiro/settings/mcp.json", `"timeout": 90000`, 90 * time.Second, ""},
		{"mcp.json", `"tool_timeout_sec": 90`, 90 * time.Second, ""},
		{"mcp.json", `"timeout": 90`, 0, `want "timeout": "90s" in the member "fondaco"`},
		{".cursor/mcp.json", `"timeout": 90`, 0, `want "timeout": "90s" in the member "fondaco"`},
		{"opencode.json", `"timeout": 90000`, 0, "opencode limits the reading of lists"},
		{".roo/mcp.json", `"timeout": 90, "fondaco": {"timeout": "3m"}`, 3 * time.Minute, ""},
		{".roo/mcp.json", `"timeout": "90"`, -1, ""},
		{".roo/mcp.json", `"timeout": 0`, -1, ""},
		{"mcp.json", `"fondaco": {"timeout": 90}`, -1, ""},
		{"mcp.json", `"fondaco": {"timeout": "-1s"}`, -1, ""},
		{"mcp.json", `"fondaco": {"timeout": {"a": "soon"}}`, -1, ""},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, test.file)), 0o700); err != nil {
			t.Fatal(err)
		}
		path := write(t, dir, test.file, fmt.Sprintf(`{"mcpServers": {"x": {"command": "y", %s}}}`, test.members))
		c, err := load(path, nil)
		if test.want < 0 {
			if err == nil && len(c.Errors) == 0 {
				t.Errorf("%s: %s: got %+v, want an error", test.file, test.members, c.Upstreams)
			}
			continue
		}
		if err != nil || len(c.Upstreams) != 1 || c.Upstreams[0].Settings.CallTimeout("any") != test.want {
			t.Errorf("%s: %s: got %+v, %v, want %v", test.file, test.members, c, err, test.want)
			continue
		}
		if got := fmt.Sprint(c.Warnings); !strings.Contains(got, test.warning) || test.warning == "" && len(c.Warnings) > 0 {
			t.Errorf("%s: %s: got warnings %s, want %q", test.file, test.members, got, test.warning)
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
		`{"timeout": "90s"}`:           {Timeouts: []host.CallTimeout{{Tools: "*", Timeout: 90 * time.Second}}},
		`{"timeout": {"render_*": "30m", "*": "1m"}}`: {
			Timeouts: []host.CallTimeout{{Tools: "render_*", Timeout: 30 * time.Minute}, {Tools: "*", Timeout: time.Minute}},
		},
		`{"allow": ["a"], "deny": ["b"], "confirm": "always"}`: {
			Rules: host.Rules{Allow: []string{"a"}, Deny: []string{"b"}, Confirm: []host.ConfirmRule{{Tools: "*", When: host.Always}}},
		},
		`{"roots": true, "sampling": "deny", "elicitation": false, "secrets": false}`: {Questions: host.QuestionRules{
			Roots: host.PermissionGranted, Sampling: host.SamplingDeny, Elicitation: host.PermissionRefused, Secrets: host.PermissionRefused,
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
