package cli

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/internal/hostiletext"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// What a configuration holds in confidence is in no line of the log, nor what drives a terminal.
func TestLogHasNoSecretsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	m := &Main{IO: terminal.IO{Stderr: &lines}}
	target := mcpclient.Command("run", "--api-key", "canary-argument", "--token=canary-flag", "--name", "plain-name")
	target.Env = map[string]string{"KEY": "${env:KEY}", "OTHER": "canary-variable"}
	configured := host.Upstream{Key: "a", Target: target, Header: http.Header{"X-Key": {"canary-header"}}}
	m.secrets.configure([]host.Upstream{configured})
	resolved := configured
	expanded := *target
	expanded.Env = map[string]string{"KEY": "canary-reference"}
	resolved.Target = &expanded
	m.secrets.resolve(&resolved)
	log := m.logger()
	for _, secret := range []string{"canary-argument", "canary-flag", "canary-variable", "canary-header", "canary-reference"} {
		log.Warn("found "+secret, "error", secret, slog.Group("g", "url", "https://a.example/"+secret+"?q="+secret))
	}
	log.Warn("plain-name stays")
	for _, text := range hostiletext.Texts() {
		log.Warn(text, "text", text)
	}
	if strings.Contains(lines.String(), "canary") || !strings.Contains(lines.String(), "plain-name stays") || !strings.Contains(lines.String(), "https://a.example/[hidden]") {
		t.Errorf("got %.2000s", lines.String())
	}
	if i := hostiletext.Unshown(lines.String(), "\n"); i >= 0 {
		t.Errorf("got %.60q, want what is not shown made visible", lines.String()[i:])
	}
	lines.Reset()
	m.secrets.configure(nil)
	log.Warn("canary-reference")
	if !strings.Contains(lines.String(), "canary-reference") {
		t.Error("the secrets of a server that was removed are kept")
	}
}
