package oauth_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

func TestOnlyTheSlashOfAnEmptyPathIsNoDifference(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"https://as.example", "https://as.example/"},
		{"https://as.example:8443", "https://as.example:8443/"},
		{"http://127.0.0.1:9", "http://127.0.0.1:9/"},
		{"https://[::1]", "https://[::1]/"},
	} {
		if !oauth.SameIdentifier(pair[0], pair[1]) || !oauth.SameIdentifier(pair[1], pair[0]) {
			t.Errorf("%q are different", pair)
		}
		if got := oauth.Spellings(pair[1]); !slices.Equal(got, []string{pair[1], pair[0]}) {
			t.Errorf("got the spellings %q of %s", got, pair[1])
		}
		if got := oauth.Spellings(pair[0]); !slices.Equal(got, pair[:]) {
			t.Errorf("got the spellings %q of %s", got, pair[0])
		}
	}
	for _, pair := range [][2]string{
		{"https://as.example", "https://as.example//"},
		{"https://as.example/", "https://as.example//"},
		{"https://as.example/t", "https://as.example/t/"},
		{"https://as.example", "https://AS.example/"},
		{"https://as.example", "https://as.example:443/"},
		{"https://as.example", "https://as.example./"},
		{"https://as.example", "http://as.example/"},
		{"https://as.example", "HTTPS://as.example/"},
		{"https://as.example", "https://user@as.example/"},
		{"https://user@as.example", "https://user@as.example/"},
		{"https://as.example?", "https://as.example?/"},
		{"https://as.example#", "https://as.example#/"},
		{"https://as.example\\", "https://as.example\\/"},
		{"https://as.example", "https://as.example/%2F"},
		{"https://as.example", "https://as.example/."},
		{"https://", "https:///"},
		{"urn:a", "urn:a/"},
		{"", "/"},
		{"app", "app/"},
	} {
		if oauth.SameIdentifier(pair[0], pair[1]) {
			t.Errorf("%q are the same", pair)
		}
	}
}

func TestIssuersThatPeersSendAreShownIfTheyAreIssuers(t *testing.T) {
	t.Parallel()
	for issuer, want := range map[string]string{
		"https://sts.example/t/":      `"https://sts.example/t/"`,
		"":                            "none",
		"https://as.example/\x1b[2J":  "a text that is no issuer identifier",
		"https://as.example/\u202e":   "a text that is no issuer identifier",
		"https://as.example/\n":       "a text that is no issuer identifier",
		"https://as.example/?token=x": "a text that is no issuer identifier",
		"javascript:alert(1)":         "a text that is no issuer identifier",
		"https://as.example/" + strings.Repeat("a", 200): "a text that is no issuer identifier",
	} {
		if got := oauth.ShownIssuer(issuer); got != want {
			t.Errorf("%q is shown as %s, want %s", issuer, got, want)
		}
	}
}
