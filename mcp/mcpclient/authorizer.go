package mcpclient

import "net/http"

// Authorizer gives the HTTP requests of a client their credentials, and gets new
// ones when the server asks for them. A *mcpauth.Client is one. Its methods are
// safe for concurrent use, keep to the context of the request, and may take as
// long as a user needs to sign in: meanwhile no deadline of the client runs.
type Authorizer interface {
	// Authorize puts credentials on a request that is about to be sent, if there
	// are any for its URL. It does not ask the user.
	Authorize(req *http.Request) error
	// Challenged is told that the server answered a request with 401 or 403. After
	// nil the request is authorized and sent once more, at most three times in a
	// row. An error ends the call: errors.As finds it in the error of the call, and
	// an HTTPError beside it. The body of the response is not to be read.
	//
	// It is not called for what a client says when it leaves: that a call is
	// cancelled, or a session ended.
	Challenged(req *http.Request, resp *http.Response) error
}
