package apps_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpext/apps"
)

func TestPolicyAllowsNothingThatIsNotDeclared(t *testing.T) {
	t.Parallel()
	for _, c := range []*apps.CSP{nil, {}} {
		got, refused := c.Policy()
		const want = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
			"media-src 'self' data:; font-src 'none'; connect-src 'none'; frame-src 'none'; object-src 'none'; form-action 'none'; base-uri 'self'"
		if got != want || len(refused) > 0 {
			t.Errorf("got %s, refused %q, want %s", got, refused, want)
		}
	}
}

func TestPolicyAllowsWhatIsDeclaredInItsPlace(t *testing.T) {
	t.Parallel()
	c := &apps.CSP{
		ConnectDomains:  []string{"https://api.example.com", "wss://live.example.com:8443"},
		ResourceDomains: []string{"https://*.example.net", "http://localhost:3000"},
		FrameDomains:    []string{"https://www.example.org"},
		BaseURIDomains:  []string{"https://cdn.example.com"},
	}
	got, refused := c.Policy()
	const want = "default-src 'none'; script-src 'self' 'unsafe-inline' https://*.example.net http://localhost:3000; " +
		"style-src 'self' 'unsafe-inline' https://*.example.net http://localhost:3000; img-src 'self' data: https://*.example.net http://localhost:3000; " +
		"media-src 'self' data: https://*.example.net http://localhost:3000; font-src 'self' https://*.example.net http://localhost:3000; " +
		"connect-src https://api.example.com wss://live.example.com:8443; frame-src https://www.example.org; object-src 'none'; form-action 'none'; " +
		"base-uri https://cdn.example.com"
	if got != want || len(refused) > 0 {
		t.Errorf("got %s, refused %q, want %s", got, refused, want)
	}
}

// hostile are texts that are no origin, or more than one.
var hostile = []string{
	"", "*", "https:", "https://", "https://*", "https://*.com", "https://*.", "https://a.*.com", "https://*.*.com", "data:", "blob:", "javascript:alert(1)",
	"'unsafe-eval'", "'self'", "'none'", "https://a.com; script-src *", "https://a.com;", "https://a.com\nscript-src *", "https://a.com\r\nSet-Cookie: a=b",
	"https://a.com https://b.com", "https://a.com,https://b.com", "https://a.com\t*", "https://a.com\n", "\nhttps://a.com", " https://a.com", "https://a.com/", "https://a.com/path",
	"https://a.com?b", "https://a.com#b", "https://user@a.com", "https://user:pass@a.com", "https://a.com:0", "https://a.com:65536", "https://a.com:*", "https://a.com:",
	"https://a..com", "https://-a.com", "https://a.com.", "https://münchen.de", "https://[::1]", "https://*.127.0.0.1", "http://a.com", "ws://a.com", "http://*.localhost",
	"http://localhost.evil.com", "ftp://a.com", "HTTPS://a.com", "//a.com", "a.com", "https://a.com\x00", "https://a.com'", "https://a_b.com", strings.Repeat("a", 5000),
}

func TestInvalidOriginsAreNotInThePolicy(t *testing.T) {
	t.Parallel()
	strict, _ := (*apps.CSP)(nil).Policy()
	for _, text := range hostile {
		for name, c := range map[string]*apps.CSP{
			"connect": {ConnectDomains: []string{text}}, "resource": {ResourceDomains: []string{text}},
			"frame": {FrameDomains: []string{text}}, "base": {BaseURIDomains: []string{text}},
		} {
			if got, refused := c.Policy(); got != strict || !slices.Equal(refused, []string{text}) {
				t.Errorf("%s %q: got %s, refused %q, want it refused", name, text, got, refused)
			}
		}
	}
	for _, c := range []*apps.CSP{{ResourceDomains: []string{"wss://a.com"}}, {FrameDomains: []string{"wss://a.com"}}, {BaseURIDomains: []string{"wss://a.com"}}} {
		if got, _ := c.Policy(); got != strict {
			t.Errorf("a socket is for connections alone: got %s", got)
		}
	}
}

func TestPolicyIsBounded(t *testing.T) {
	t.Parallel()
	c := &apps.CSP{ConnectDomains: slices.Repeat([]string{"https://a.com"}, 1000)}
	if got, refused := c.Policy(); strings.Count(got, "https://a.com") != 64 || len(refused) != 936 {
		t.Errorf("got %d in the policy and %d refused, want 64 and 936", strings.Count(got, "https://a.com"), len(refused))
	}
}

// What is declared for one directive never changes another one, nor adds one.
func FuzzPolicy(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Add("https://*.example.com:443")
	names := func(policy string) (names []string) {
		for d := range strings.SplitSeq(policy, "; ") {
			name, _, _ := strings.Cut(d, " ")
			names = append(names, name)
		}
		return names
	}
	strict, _ := (*apps.CSP)(nil).Policy()
	f.Fuzz(func(t *testing.T, text string) {
		got, refused := (&apps.CSP{ConnectDomains: []string{text}}).Policy()
		if len(refused) == 1 && got != strict {
			t.Errorf("%q: refused, and yet %s", text, got)
		}
		if want := strings.Replace(strict, "connect-src 'none'", "connect-src "+text, 1); len(refused) == 0 && got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
		if !slices.Equal(names(got), names(strict)) || strings.ContainsAny(got, "\r\n\x00,") {
			t.Errorf("%q: got %s", text, got)
		}
	})
}

func TestPermissionsAreAnAllowAttribute(t *testing.T) {
	t.Parallel()
	all := apps.Permissions{Camera: true, Microphone: true, Geolocation: true, ClipboardWrite: true}
	if got, want := all.Allow(), "camera; microphone; geolocation; clipboard-write"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (apps.Permissions{}).Allow(); got != "" {
		t.Errorf("none: got %q, want nothing", got)
	}
	if got := all.Intersect(apps.Permissions{Microphone: true}); got != (apps.Permissions{Microphone: true}) {
		t.Errorf("both: got %+v, want the microphone", got)
	}
}
