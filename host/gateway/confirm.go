package gateway

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// consent is the form by which a caller consents to a call. To accept it is not
// enough, because clients accept what has nothing to fill in.
type consent struct {
	Allow bool `json:"allow" title:"Allow this call"`
}

// maxShown bounds the arguments that a question shows, in bytes.
const maxShown = 2000

// errNoConsent is what all reasons not to make a call have in common that are
// about the consent of its caller.
var errNoConsent = errors.New("the call needs consent")

// confirm asks the caller of ctx for consent to a call of a tool. The answer
// holds for this call with these arguments alone.
func confirm(ctx context.Context, key, tool string, arguments jsontext.Value) error {
	answer, err := mcpserver.Ask[consent](ctx, "io.github.fondaco.consent", question(key, tool, arguments))
	switch {
	case errors.Is(err, mcpserver.ErrInputRequired):
		return err
	case mcp.CodeOf(err) == mcp.CodeMissingCapability, errors.Is(err, mcpserver.ErrCannotAsk):
		return fmt.Errorf("%w, and this client cannot ask its user", errNoConsent)
	case errors.Is(err, mcpserver.ErrDeclined), err == nil && !answer.Allow:
		return fmt.Errorf("%w, and the user said no", errNoConsent)
	case err != nil:
		return fmt.Errorf("%w: %w", errNoConsent, err)
	}
	return nil
}

func question(key, tool string, arguments jsontext.Value) string {
	shown := arguments[:min(len(arguments), maxShown)]
	text := fmt.Sprintf("Allow a call of %s/%s?\n%s", key, host.Visible(tool), host.Visible(string(shown)))
	if more := len(arguments) - len(shown); more > 0 {
		text += fmt.Sprintf("… and %d bytes more", more)
	}
	return text
}

// refusal is the result of a call that was not made. The model reads why, and a
// program knows it by its metadata.
func refusal(err error) (mcp.Result, error) {
	why := host.RefusedConsent
	switch {
	case errors.Is(err, mcpauth.ErrSignInRequired):
		why = host.RefusedSignIn
	case !errors.Is(err, errNoConsent):
		return nil, err
	}
	result := &mcp.CallToolResult{IsError: true, Content: mcp.Contents{mcp.Text(err.Error())}}
	result.Meta = make(mcp.Meta)
	return result, result.Meta.Set(host.MetaRefused, why)
}

// isRefusal reports whether a result is one of refusal.
func isRefusal(result mcp.Result) bool {
	r, ok := result.(*mcp.CallToolResult)
	return ok && r != nil && r.Meta[host.MetaRefused] != nil
}
