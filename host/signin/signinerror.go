package signin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// advice says what the user of the host can do where an option of mcpauth.ClientOptions would make
// a sign-in possible.
var advice = map[string]string{
	"Registered": `set "issuer" and "clientId" in the member "auth" of the server's configuration`,
	"Prefixes":   `if the address is correct, add its network to "networks" in the member "auth" of the server's configuration`,
	"AssumePKCE": `if its documentation says that it does, set "pkce": "S256" in the member "auth" of the server's configuration`,
}

// keyAdvice is for servers that do not say where to sign in: most of them want an API key. namedAdvice is
// for those that the command line names by their URL.
const (
	keyAdvice   = `if the server accepts an API key or a token of its own, set it in the member "headers" of the server's configuration; "fondaco add" has the flag --header for it`
	namedAdvice = `if the server accepts an API key or a token of its own, give it with --token or --header to the commands that use the server`
)

// ExplainError replaces the option that the error of a sign-in to an upstream names by the member of the
// configuration, and says how to set an API key where a server does not say where to sign in. Other
// errors and nil are returned as they are.
func ExplainError(u *host.Upstream, err error) error {
	e, ok := errors.AsType[*mcpauth.SignInError](err)
	if !ok {
		return err
	}
	text := advice[e.Option]
	if errors.Is(err, mcpauth.ErrNoMetadata) {
		key := keyAdvice
		if u.Source == nil { // it is of no configuration
			key = namedAdvice
		}
		text = strings.TrimPrefix(text+"; "+key, "; ")
	}
	if text == "" {
		return err
	}
	return &mcpauth.SignInError{Server: e.Server, Err: fmt.Errorf("%w; %s", e.Err, text)}
}

// explainingAuthorizer is an authorizer whose errors name members of the configuration.
type explainingAuthorizer struct {
	client   *mcpauth.Client
	upstream *host.Upstream
}

func (a explainingAuthorizer) Authorize(req *http.Request) error {
	return ExplainError(a.upstream, a.client.Authorize(req))
}

func (a explainingAuthorizer) Challenged(req *http.Request, resp *http.Response) error {
	return ExplainError(a.upstream, a.client.Challenged(req, resp))
}
