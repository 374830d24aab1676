//go:build unix

package commandfiles_test

import (
	"os"
	"strings"
	"testing"
)

func TestWhatNoDigestCoversIsSaid(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/server.py", "x")
	m.write("usr/bin/uv", "\x7fELF uv")
	m.write("proj/bin/start", "#!"+m.path("usr/bin/sh")+"\n")
	for _, dir := range []string{"proj/node_modules/@example/local", "node_modules/above"} {
		m.must(os.MkdirAll(m.path(dir), 0o700))
	}
	for want, words := range map[string][]string{
		"the packages that uv installs before":                           {"uv", "run", "server.py"},
		"modules that the script imports":                                {"./bin/start"},
		"/proj/node_modules/@example/local, which is run instead of one": {"npx", "-y", "@example/local@1.0.0"},
		"/node_modules/above, which is run instead of one":               {"npx", "above"},
		"that the script imports":                                        {"python3", "server.py"},
		"the module server and what it imports":                          {"python3", "-m", "server"},
		"the package @example/files@1.0.0, which npx downloads":          {"npx", "-y", "@example/files@1.0.0"},
		"no version is given, so it may be another one":                  {"npx", "-y", "@example/files"},
		"the package mcp-server, which uvx downloads":                    {"uvx", "mcp-server"},
		"the package evil, which uvx downloads":                          {"uvx", "--python", "3.12", "--from", "evil", "mcp-server"},
		"the package server and more, which uvx downloads":               {"uvx", "--with", "more", "server", "--port", "1"},
		"the package evil@1, which npx downloads and runs":               {"npx", "--package=evil@1", "server"},
		"the package evil and x, which npx downloads and runs":           {"npx", "evil", "-p", "x"},
		"the package evil, which uv downloads":                           {"uv", "tool", "run", "evil", "--name", "nice"},
		"the script serve of package.json":                               {"npm", "--prefix", "api", "run", "serve"},
		"the script start of package.json":                               {"npm", "run", "start"},
		"what go compiles or runs: run .":                                {"go", "run", "."},
		"the image, which is named without a digest":                     {"docker", "run", "-i", "image", "--x=@sha256:", "@sha256:"},
		"the image, if it is another one than a@sha256:000":              {"docker", "run", "--name", "a@sha256:" + strings.Repeat("0", 64), "evil"},
		"npm:evil, which deno downloads":                                 {"deno", "run", "npm:evil"},
		"the programs and modules that the code after -c runs":           {"sh", "-c", "x"},
		"what node runs, because its arguments name no file":             {"node"},
		"the program missing, which is not there":                        {"env", "missing"},
	} {
		if got := m.find(m.command("proj", words[0], words[1:]...)).NotCovered; !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%q: got %q, want %s", words, got, want)
		}
	}
}
