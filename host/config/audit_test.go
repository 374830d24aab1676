package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
)

func TestAuditSettingsAreThoseOfTheUsersFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		settings host.AuditSettings
		err      string
	}{
		`{"mcpServers": {}}`: {},
		`{"mcpServers": {}, "fondaco": {"audit": {"first": true, "keep": "720h", "size": "256 MiB", "syslog": "udp://log:514", "requireSyslog": true, "otlp": "http://collector:4318"}}}`: {
			settings: host.AuditSettings{First: true, Keep: 720 * time.Hour, Size: 256 << 20, Syslog: "udp://log:514", RequireSyslog: true, OTLP: "http://collector:4318"},
		},
		`{"mcpServers": {}, "fondaco": {"audit": {"keep": "1m"}}}`:             {err: "want at least 24h0m0s"},
		`{"mcpServers": {}, "fondaco": {"audit": {"size": "1 KiB"}}}`:          {err: `want a size such as "256 MiB"`},
		`{"mcpServers": {}, "fondaco": {"audit": {"requireSyslog": true}}}`:    {err: `want the URL of a server too`},
		`{"mcpServers": {}, "fondaco": {"audit": {"sylog": "udp://log:514"}}}`: {err: `did you mean "syslog"?`},
	} {
		home := t.TempDir()
		dir := filepath.Join(home, ".config", "fondaco")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "mcp.json", text)
		got, err := config.LoadAudit(env(map[string]string{"HOME": home}))
		if want.err == "" && (err != nil || got != want.settings) || want.err != "" && (err == nil || !strings.Contains(err.Error(), want.err)) {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	if got, err := config.LoadAudit(env(map[string]string{"HOME": t.TempDir()})); err != nil || got != (host.AuditSettings{}) {
		t.Errorf("without a file: got %+v, %v", got, err)
	}
}
