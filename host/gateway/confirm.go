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

// consentForm is the form by which a caller consents to a call. The action "accept" alone
// is not enough: clients accept an empty form without asking their user.
type consentForm struct {
	Allow bool `json:"allow" title:"Allow this call"`
}

// maxShownArguments limits the arguments that the question shows, in bytes.
const maxShownArguments = 2000

// errNoConsent is wrapped by the error of each call that was not made because its caller
// did not consent.
var errNoConsent = errors.New("the call needs consent")

// confirm asks the caller of ctx for consent to a call of a tool. The consent holds for
// this call with these arguments only.
func confirm(ctx context.Context, key, tool string, arguments jsontext.Value) error {
	answer, err := mcpserver.Ask[consentForm](ctx, "io.github.fondaco.consent", consentText(key, tool, arguments))
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

func consentText(key, tool string, arguments jsontext.Value) string {
	shown := arguments[:min(len(arguments), maxShownArguments)]
	text := fmt.Sprintf("Allow a call of %s/%s?\n%s", key, host.EscapeUnprintable(tool), host.EscapeUnprintable(string(shown)))
	if more := len(arguments) - len(shown); more > 0 {
		text += fmt.Sprintf("… and %d bytes more", more)
	}
	return text
}

// refusalResult is the result of a call that the host did not make. Its text gives the
// reason to the model, its metadata to programs.
func refusalResult(err error) (mcp.Result, error) {
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

// isRefusalResult reports whether refusalResult made a result.
func isRefusalResult(result mcp.Result) bool {
	r, ok := result.(*mcp.CallToolResult)
	return ok && r != nil && r.Meta[host.MetaRefused] != nil
}
