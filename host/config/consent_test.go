package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
)

func TestSettingsForConsentAreTheUsersAlone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		content string
		want    host.ConsentSettings
		err     string
	}{
		{`{"mcpServers": {}}`, host.ConsentSettings{}, ""},
		{
			`{"mcpServers": {}, "fondaco": {"consent": {"wait": "30s", "clients": ["editor"], "notify": false}}}`,
			host.ConsentSettings{Wait: 30 * time.Second, Clients: []string{"editor"}, Silent: true},
			"",
		},
		{`{"mcpServers": {}, "fondaco": {"consent": {"notify": true}}}`, host.ConsentSettings{}, ""},
		{`{"mcpServers": {}, "fondaco": {"consent": {"questions": true}}}`, host.ConsentSettings{Questions: host.PermissionGranted}, ""},
		{`{"mcpServers": {}, "fondaco": {"consent": {"questions": false}}}`, host.ConsentSettings{Questions: host.PermissionRefused}, ""},
		{`{"mcpServers": {}, "fondaco": {"consent": {"wait": "1h"}}}`, host.ConsentSettings{}, `found "1h", want at most 10m0s`},
		{`{"mcpServers": {}, "fondaco": {"consent": {"client": "editor"}}}`, host.ConsentSettings{}, `found "client", want "wait", "clients", "notify" or "questions" (did you mean "clients"?)`},
		{`{"mcpServers": {}, "fondaco": {"consent": {"notify": "no"}}}`, host.ConsentSettings{}, `found a string, want a boolean`},
	} {
		home := t.TempDir()
		env := func(name string) (string, bool) { return home, name == "HOME" }
		path := config.DefaultPath(env)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := config.LoadConsent(env)
		if test.err == "" && (err != nil || !reflect.DeepEqual(got, test.want)) || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: got %+v, %v, want %+v, %s", test.content, got, err, test.want, test.err)
		}
		// The same file in a project has no effect.
		project := filepath.Join(t.TempDir(), "mcp.json")
		if err := os.WriteFile(project, []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(project, &config.Options{Env: env})
		if err != nil {
			t.Fatal(err)
		}
		said := len(c.Warnings) == 1 && strings.Contains(c.Warnings[0].Error(), "has no effect: the host reads its own settings from the user's file only")
		if want := strings.Contains(test.content, "fondaco"); said != want || len(c.Errors) != 0 {
			t.Errorf("%s: got %v, %v, want a warning: %v", test.content, c.Warnings, c.Errors, want)
		}
		c, err = config.Load(path, &config.Options{Env: env})
		if err != nil || (len(c.Errors) > 0) != (test.err != "") {
			t.Errorf("%s: got %v, %v, want the error of the settings: %s", test.content, c.Errors, err, test.err)
		}
	}
}
