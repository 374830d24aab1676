package oauth_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// challengeFields are fields, and what is to be read from them: schemes and
// parameters, one challenge after the other.
var challengeFields = map[string]string{
	``:                                   ``,
	`Bearer`:                             `bearer`,
	`bEaReR realm="a"`:                   `bearer realm=a`,
	`Bearer realm="a, b=\"c\""`:          `bearer realm=a, b="c"`,
	`Bearer scope="x y",error=z`:         `bearer error=z scope=x y`,
	`Bearer Scope = "x" , , error = "z"`: `bearer error=z scope=x`,
	`Basic realm="a", Bearer scope="x", DPoP algs="ES256"`:   `basic realm=a; bearer scope=x; dpop algs=ES256`,
	`Negotiate, Bearer scope="x"`:                            `negotiate; bearer scope=x`,
	`Negotiate YWJj==, Bearer scope="x"`:                     `negotiate; bearer scope=x`,
	`,, Bearer scope=x ,,Basic`:                              `bearer scope=x; basic`,
	`Bearer scope="x", scope="y"`:                            `bearer scope=x`,
	`Bearer scope="open`:                                     `bearer`,
	`Bearer error="a" nonsense="b", Basic realm="c"`:         `bearer`,
	`Bearer realm="a", "quoted", Basic realm="c"`:            `bearer realm=a`,
	`Bearer resource_metadata="https://a/b?c=d", error="e"`:  `bearer error=e resource_metadata=https://a/b?c=d`,
	`Bearer/1 realm="a"`:                                     ``,
	"Bearer\trealm=\"a\"":                                    `bearer realm=a`,
	`Digest a="1", Bearer`:                                   `digest a=1; bearer`,
	`Bearer ` + strings.Repeat(`a=b,`, 10_000):               ``,
	strings.Repeat(`Bearer,`, 40):                            strings.Repeat(`bearer; `, 15) + `bearer`,
	`Bearer realm="` + strings.Repeat(`\"`, 1_000_000) + `"`: ``,
	`Bearer realm="é", scope="x"`:                            `bearer realm=é scope=x`,
}

func TestChallengesAreRead(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-161")
	for field, want := range challengeFields {
		if got := show(oauth.ParseChallenges([]string{field})); got != want {
			t.Errorf("%.100s: got %s, want %s", field, got, want)
		}
	}
	if got := show(oauth.ParseChallenges([]string{`Basic realm="a"`, `Bearer scope="x"`})); got != "basic realm=a; bearer scope=x" {
		t.Errorf("two fields: got %s", got)
	}
}

func show(challenges []oauth.Challenge) string {
	var shown []string
	for _, c := range challenges {
		text := c.Scheme
		for _, name := range sortedKeys(c.Params) {
			text += " " + name + "=" + c.Params[name]
		}
		shown = append(shown, text)
	}
	return strings.Join(shown, "; ")
}

func FuzzParseChallenges(f *testing.F) {
	for field := range challengeFields {
		if len(field) < 1000 {
			f.Add(field, "Bearer")
		}
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		challenges := oauth.ParseChallenges([]string{one, other})
		if len(challenges) > 16 {
			t.Fatalf("%d challenges", len(challenges))
		}
		for _, c := range challenges {
			if c.Scheme == "" || len(c.Params) > 32 || c.Scheme != strings.ToLower(c.Scheme) {
				t.Fatalf("%+v", c)
			}
			for name := range maps.Keys(c.Params) {
				if name == "" || strings.ContainsAny(name, "\", =") {
					t.Fatalf("parameter %q", name)
				}
			}
		}
	})
}
