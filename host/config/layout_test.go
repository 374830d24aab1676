package config_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var update = flag.Bool("update", false, "write golden files anew")

// TestFormsOfOtherProgramsAreRead reads a file as each program has it, and compares
// what is made of it with the file of the same name and the ending .golden.
func TestFormsOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	forms := filepath.Join("testdata", "forms")
	dir := filepath.Join(t.TempDir(), "forms") // perhaps others can write to the checkout
	if err := os.CopyFS(dir, os.DirFS(forms)); err != nil {
		t.Fatal(err)
	}
	files := []string{
		"claude_desktop_config.json", "cursor.json", "windsurf.json", "cline_mcp_settings.json", ".gemini/settings.json",
		"vscode.json", "opencode.json", "zed.json", "codex.toml", "fondaco.json",
	}
	variables := map[string]string{"TOKEN": "t0ken", "HOME": "/home/anna", "FONDACO_INPUT_REGION": "us"}
	ask := func(in config.Input) (string, error) {
		return fmt.Sprintf("answer to %q %v", in.Description, in.Password), nil
	}
	for _, name := range files {
		c, err := loadResolved(filepath.Join(dir, filepath.FromSlash(name)), &config.Options{Env: env(variables), Ask: ask})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := strings.ReplaceAll(describe(c), dir, "DIR")
		golden := filepath.Join(forms, filepath.Base(name)+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// describe writes all that was made of a file, a line each.
func describe(c *config.Config) string {
	var b strings.Builder
	for i := range c.Upstreams {
		describeUpstream(&b, &c.Upstreams[i])
	}
	fmt.Fprintf(&b, "disabled %q broken %q\n", c.Disabled, c.Broken)
	for _, f := range slices.Concat(c.Warnings, c.Errors) {
		fmt.Fprintf(&b, "%s\n", strings.TrimPrefix(f.Error(), f.Path))
	}
	return b.String()
}

func describeUpstream(b *strings.Builder, u *host.Upstream) {
	fmt.Fprintf(b, "%s %s\n", u.Key, u.Transport)
	switch t := u.Target.(type) {
	case *mcpclient.CommandTarget:
		fmt.Fprintf(b, "  %q %q in %q\n", t.Path, t.Args, t.Dir)
		for _, name := range slices.Sorted(maps.Keys(t.Env)) {
			fmt.Fprintf(b, "  %s=%q\n", name, t.Env[name])
		}
	default:
		fmt.Fprintf(b, "  %s\n", t)
	}
	for _, name := range slices.Sorted(maps.Keys(u.Header)) {
		fmt.Fprintf(b, "  %s: %s\n", name, u.Header.Get(name))
	}
	describeFields(b, "", reflect.ValueOf(u.Settings))
}

// describeFields writes the fields that are not zero, a line each.
func describeFields(b *strings.Builder, prefix string, of reflect.Value) {
	for field, value := range of.Fields() {
		switch {
		case value.IsZero():
		case value.Kind() == reflect.Struct:
			describeFields(b, prefix+field.Name+".", value)
		default:
			fmt.Fprintf(b, "  %s%s %+v\n", prefix, field.Name, value)
		}
	}
}
