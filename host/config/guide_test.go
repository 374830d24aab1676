package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/config"
)

var (
	guideBlock = regexp.MustCompile("(?s)```(json|toml)\n(.*?)```")
	guideFile  = regexp.MustCompile("(?m)^\\| (macOS|Windows|Linux|macOS, Linux|a project.*) \\| `(.*)` \\|$")
)

// guideSections returns the sections of docs/connect-clients.md about clients.
func guideSections(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "connect-clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := make(map[string]string)
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		for _, c := range config.Clients() {
			if c.Name == title {
				sections[c.ID] = text
			}
		}
	}
	return sections
}

func TestConfigurationsOfTheGuideAreThoseOfTheClients(t *testing.T) {
	t.Parallel()
	sections := guideSections(t)
	if len(sections) != 6 {
		t.Errorf("got %d sections about clients, want 6", len(sections))
	}
	notes := config.Endpoint{Command: []string{"/usr/local/bin/notes", "-db", "/srv/notes.db"}}
	tickets := config.Endpoint{URL: "https://tickets.example.com/mcp"}
	host := config.Endpoint{Command: []string{"/usr/local/bin/fondaco", "stdio"}}
	for id, text := range sections {
		c := client(t, id)
		blocks := guideBlock.FindAllStringSubmatch(text, -1)
		if len(blocks) != 2 {
			t.Errorf("%s: got %d configurations, want one with servers and one with the host", id, len(blocks))
			continue
		}
		servers := []string{"notes", "tickets"}
		if !c.SupportsURL() {
			servers = servers[:1]
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "written."+blocks[0][1])
		written := connectAs(t, c, path, "notes", notes)
		if c.SupportsURL() {
			written = connectAs(t, c, path, "tickets", tickets)
		}
		sameText(t, id, blocks[0][2], written)
		sameText(t, id, blocks[1][2], connectAs(t, c, filepath.Join(dir, "host."+blocks[1][1]), "fondaco", host))

		read := filepath.Join(dir, "read."+blocks[0][1])
		if err := os.WriteFile(read, []byte(blocks[0][2]), 0o600); err != nil {
			t.Fatal(err)
		}
		var names []string
		found, faults := config.ClientConfig{Client: c, Path: read}.Servers(env(nil), dir)
		for _, s := range found {
			names = append(names, s.Name)
		}
		if len(faults) > 0 || !slices.Equal(names, servers) {
			t.Errorf("%s: read %q, %v, want %q", id, names, faults, servers)
		}
	}
}

// connectAs adds a server to a file of a client and returns the text of the file.
func connectAs(t *testing.T, c config.Client, path, name string, at config.Endpoint) string {
	t.Helper()
	change, err := c.Connect(path, name, at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := change.Write(""); err != nil {
		t.Fatal(err)
	}
	return content(t, path)
}

// sameText compares two configurations, white space apart.
func sameText(t *testing.T, id, got, want string) {
	t.Helper()
	compact := func(s string) string { return strings.Join(strings.Fields(s), "") }
	if compact(got) != compact(want) {
		t.Errorf("%s: the guide has\n%s\nwant\n%s", id, got, want)
	}
}

func TestFilesOfTheGuideAreThoseOfTheClients(t *testing.T) {
	t.Parallel()
	environment := env(map[string]string{"HOME": "/home/me", "APPDATA": "/appdata"})
	for id, text := range guideSections(t) {
		c := client(t, id)
		rows := guideFile.FindAllStringSubmatch(text, -1)
		if len(rows) < 3 {
			t.Errorf("%s: got %d files, want one for each system", id, len(rows))
		}
		for _, row := range rows {
			path := strings.NewReplacer("~", "/home/me", "%USERPROFILE%", "/home/me", "%APPDATA%", "/appdata").Replace(row[2])
			var want []string
			for system, name := range map[string]string{"darwin": "macOS", "windows": "Windows", "linux": "Linux"} {
				if strings.Contains(row[1], name) {
					want = append(want, c.FilesOn(environment, system)[0])
				}
			}
			if want == nil {
				want = c.ProjectFiles()
			}
			for _, file := range want {
				if filepath.ToSlash(file) != path {
					t.Errorf("%s: %s: the guide has %s, want %s", id, row[1], path, file)
				}
			}
			if want == nil {
				t.Errorf("%s: %s: the client has no such file", id, row[1])
			}
		}
	}
}
