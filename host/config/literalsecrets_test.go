package config_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/config"
)

func TestLiteralSecretsOfAServerAreFound(t *testing.T) {
	t.Parallel()
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ0123456789"
	for _, test := range []struct {
		words, env, headers []string
		want                string
	}{
		{words: []string{"https://example.com/mcp"}, headers: []string{"Authorization: Bearer x", "Cookie: a", "X-Api-Key: b", "X-Functions-Key: c", "Accept: d"}, want: `header "Authorization", header "Cookie", header "X-Api-Key", header "X-Functions-Key"`},
		{words: []string{"https://example.com/mcp"}, headers: []string{"Authorization: Bearer ${env:T}", "Cookie: ${input:c}", "X-Trace: " + token}, want: `header "X-Trace"`},
		{words: []string{"https://example.com/mcp"}, headers: []string{"Authorization: Bearer ${T:-x}", "X-Level: ${L:-info}", "X-Key: $${T}"}, want: `header "Authorization", header "X-Key"`},
		{words: []string{"https://example.com/mcp?access_token=x&page=1"}, want: `the URL (its parameter "access_token")`},
		{words: []string{"https://example.com/mcp?t%6fken=x"}, want: `the URL (its parameter "token")`},
		{words: []string{"https://example.com/mcp?token=${env:T}"}},
		{words: []string{"https://user:x@example.com/mcp"}, want: "the URL (its user)"},
		{words: []string{"https://example.com/" + token + "/mcp"}, want: "the URL (a part with the form of a secret)"},
		{words: []string{"https://example.com/mcp"}},
		{words: []string{"unix:///run/user/1000/local.sock"}},
		{words: []string{"server"}, env: []string{"GITHUB_TOKEN=x", "DB_PASSWORD=x", "ROOT=/srv", "MAX_TOKENS=100", "DSN=postgres://u:p@db/x"}, want: `variable "GITHUB_TOKEN", variable "DB_PASSWORD", variable "DSN"`},
		{words: []string{"server"}, env: []string{"GITHUB_TOKEN", "DB_PASSWORD=${env:P}", "EMPTY_TOKEN="}},
		{words: []string{"server", "--token", "x", "--api-key=y", "--sort", "z", "--password", "--verbose"}, want: "argument 2, argument 3"},
		{words: []string{"docker", "run", "-e", "TOKEN=x", "-e", "TOKEN", "-e", "TOKEN=${env:T}", "image"}, want: "argument 3"},
		{words: []string{"uvx", "--from", "git+ssh://git@example.com/a", "server"}},
		{words: []string{"npx", "-y", "@example/files@1.0.0", "."}},
	} {
		s, err := config.NewServer("s", test.words, test.env, test.headers)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.LiteralSecrets(), ", "); got != test.want {
			t.Errorf("%q %q %q: got %s, want %s", test.words, test.env, test.headers, got, test.want)
		}
	}
}
