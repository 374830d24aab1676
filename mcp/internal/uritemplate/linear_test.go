package uritemplate

import (
	"strings"
	"testing"
)

// Repetitions like these take quadratic or exponential time in matchers that
// backtrack. Steps are counted instead of time, which depends on the machine.
func TestStepsAreBoundedByStatesTimesPositions(t *testing.T) {
	t.Parallel()
	const size = 16 << 10
	var uris []string
	for _, unit := range []string{"a", "a,", "/a", ".a", ";x", ";x=", "&x=a", "%C3%A9", "é", "a#"} {
		body := strings.Repeat(unit, size/len(unit))
		uris = append(uris, body+" ", "?x="+body+"!", "#"+body)
	}
	for _, operator := range []string{"", "+", "#", ".", "/", ";", "?", "&"} {
		for _, body := range []string{"x", "x*,y*", "x:3,y"} {
			expression := "{" + operator + body + "}"
			for _, uri := range uris {
				checkSteps(t, expression+expression+"z", uri)
			}
		}
	}
}

func TestStepsAreBoundedForTheGreatestTemplate(t *testing.T) {
	t.Parallel()
	const size = 16 << 10
	for expression, unit := range map[string]string{"{+a}": "a", "{a:9999}": "a", "{&a*}": "&a=", "{/a*}": "/a"} {
		checkSteps(t, strings.Repeat(expression, maxVariables)+"!", strings.Repeat(unit, size/len(unit)))
	}
}

// checkSteps matches a URI that does not match, which takes the most steps.
func checkSteps(t *testing.T, text, uri string) {
	t.Helper()
	template, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	m := newMatcher(&template.program, uri)
	if m.run(m.start, 0) {
		t.Errorf("%s matches %.20s…", text, uri)
	}
	if bound := 4 * len(m.states) * (len(uri) + 1); m.steps > bound || m.steps == 0 {
		t.Errorf("%.20s of %.20s…: %d steps, want at most %d", text, uri, m.steps, bound)
	}
}
