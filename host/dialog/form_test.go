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
