package oauth_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

func TestMain(m *testing.M) { leak.Main(m) }

func body(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

func TestIssuerOfAResponseIsComparedFirst(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-179", "R-180")
	const good = "iss=https%3A%2F%2Fas.example%2Ft"
	for _, tt := range []struct {
		query      string
		advertised bool
		taken      bool
		shown      string // of the error that the response reports
	}{
		{"code=c&" + good, true, true, ""},
		{"code=c", true, false, ""},
		{"code=c&iss=", true, false, ""},
		{"code=c&" + good, false, true, ""},
		{"code=c", false, true, ""},
		{"code=c&iss=", false, false, ""},
		{"code=c&iss=https%3A%2F%2Fevil.example", true, false, ""},
		{"code=c&iss=https%3A%2F%2Fevil.example", false, false, ""},
		{"code=c&iss=https%3A%2F%2FAS.example%2Ft", true, false, ""},
		{"code=c&iss=https%3A%2F%2Fas.example%3A443%2Ft", true, false, ""},
		{"code=c&iss=https%3A%2F%2Fas.example%2Ft%2F", true, false, ""},
		{"code=c&iss=https%3A%2F%2Fas.example%2F%2574", true, false, ""},
		{"error=access_denied&" + good, true, false, "access_denied"},
		{"error=access_denied", false, false, "access_denied"},
		{"error=access_denied", true, false, ""},
		{"error=access_denied&error_description=SHOWN&iss=https%3A%2F%2Fevil.example", true, false, ""},
		{"error=SHOWN%1b[31m&" + good, true, false, "do not know"},
		{good, true, false, "want a code"},
	} {
		r, err := oauth.ParseAuthorizationResponse(tt.query)
		if err == nil {
			err = r.Check("https://as.example/t", tt.advertised)
		}
		switch {
		case (err == nil) != tt.taken:
			t.Errorf("%s, advertised %v: got %v", tt.query, tt.advertised, err)
		case err != nil && tt.shown == "" && !errors.Is(err, oauth.ErrOtherIssuer):
			t.Errorf("%s: got %v", tt.query, err)
		case err != nil && (!strings.Contains(err.Error(), tt.shown) || strings.Contains(err.Error(), "SHOWN")):
			t.Errorf("%s: the error says %v", tt.query, err)
		case tt.shown == "" && err != nil && strings.Contains(err.Error(), "access_denied"):
			t.Errorf("%s: the error of a stranger is shown: %v", tt.query, err)
		}
	}
}

func TestAmbiguousResponsesAreRefused(t *testing.T) {
	t.Parallel()
	for _, query := range []string{
		"state=a&state=b", "code=a&code=b", "iss=a&iss=a", "error=a&error=b", "state=%zz", "a;b", strings.Repeat("a", 17<<10),
	} {
		if _, err := oauth.ParseAuthorizationResponse(query); err == nil {
			t.Errorf("%.40s is taken", query)
		}
	}
}

func FuzzAuthorizationResponse(f *testing.F) {
	f.Add("code=c&state=s&iss=https%3A%2F%2Fas", true)
	f.Add("error=access_denied&error_description=x", false)
	f.Fuzz(func(t *testing.T, query string, advertised bool) {
		r, err := oauth.ParseAuthorizationResponse(query)
		if err != nil {
			return
		}
		err = r.Check("https://as", advertised)
		if err == nil && (r.Code == "" || r.Error != "" || r.Issuer != "" && r.Issuer != "https://as" && r.Issuer != "https://as/" || advertised && r.Issuer == "") {
			t.Fatalf("%q was taken", query)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Fatalf("error of %d bytes", len(err.Error()))
		}
	})
}

// TestCodeChallenge uses the example of RFC 7636, appendix B.
func TestCodeChallenge(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-169a")
	if got := oauth.CodeChallenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"); got != "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" {
		t.Errorf("got %s", got)
	}
	one, other := oauth.Random(), oauth.Random()
	if len(one.Reveal()) != 43 || one == other {
		t.Errorf("%d characters, equal %v", len(one.Reveal()), one == other)
	}
}

func TestScopesAreReadOnce(t *testing.T) {
	t.Parallel()
	got := oauth.ParseScope(`a  b a "x" c:d/é ` + "\x1b[m " + strings.Repeat("y", 300))
	if strings.Join(got, " ") != "a b" {
		t.Errorf("got %q", got)
	}
}
