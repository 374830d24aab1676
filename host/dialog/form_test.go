package dialog_test

import (
	"context"
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/dialog"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

// A default is sent for a field that is left out, so the user has to see it with the answers.
func TestDefaultsOfAFormAreShownBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-337b")
	asked := ""
	d := &dialog.Dialog{IO: &terminal.IO{Stderr: new(strings.Builder)}, Ask: func(_ context.Context, format string, args ...any) (string, error) {
		asked = strings.TrimSpace(strings.Join([]string{asked, format}, "\n"))
		for _, arg := range args {
			asked += " " + arg.(string)
		}
		if strings.HasPrefix(format, "%s") && strings.HasPrefix(args[0].(string), "Send ") {
			return "y", nil
		}
		return "", nil
	}}
	got, err := d.Form(t.Context(), &mcp.ElicitParams{RequestedSchema: jsontext.Value(`{"type":"object","properties":{` +
		`"agree":{"type":"boolean","default":true},"to":{"type":"string","default":"all"},"n":{"type":"integer","default":3},` +
		`"size":{"type":"string","enum":["s","m"],"default":"m"},"extras":{"type":"array","items":{"type":"string","enum":["a","b"]},"default":["b"]},` +
		`"note":{"type":"string"}}}`)})
	const want = `{"agree":true,"to":"all","n":3,"size":"m","extras":["b"]}`
	if err != nil || string(got.Content) != want || !strings.Contains(asked, "Send "+want+"? ") {
		t.Errorf("got %+v, %v, after %q, want all that is sent", got, err, asked)
	}
}

// A part of what a server offers would begin a line, as words of the host do.
func TestWhatAFieldWantsIsWrapped(t *testing.T) {
	t.Parallel()
	var screen strings.Builder
	to := &terminal.IO{Stderr: &screen, Interactive: true, Env: []string{"COLUMNS=60"}}
	answers := []string{"none", "/cancel"}
	d := &dialog.Dialog{IO: to, Ask: func(context.Context, string, ...any) (answer string, err error) {
		answer, answers = answers[0], answers[1:]
		return answer, nil
	}}
	_, err := d.Form(t.Context(), &mcp.ElicitParams{RequestedSchema: jsontext.Value(`{"type":"object","properties":{"meal":{"type":"string","enum":["` +
		strings.Repeat("-", 80) + `"]}},"required":["meal"]}`)})
	if err != nil {
		t.Fatal(err)
	}
	_, found, _ := strings.Cut(screen.String(), "found none")
	for line := range strings.Lines("found none" + found) {
		if !to.Fits(strings.TrimSuffix(line, "\n")) {
			t.Errorf("got %q, want lines of 59 columns at most", line)
		}
	}
	if !strings.Contains(found, "\n    | ---") {
		t.Errorf("got %q, want the choices behind a mark", found)
	}
}
