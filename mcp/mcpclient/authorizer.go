package mcpclient

import "net/http"

// Authorizer adds credentials to the HTTP requests of a client, and gets new ones when
// the server requires them. *mcpauth.Client implements it.
//
// An implementation must be safe for concurrent use and must return when the context of
// the request ends. It may take as long as a user needs to sign in: the deadlines of the
// client are paused meanwhile.
type Authorizer interface {
	// Authorize adds credentials to a request that is about to be sent, if there
	// are any for its URL. It must not ask the user.
	Authorize(req *http.Request) error
	// Challenged is called when the server answers a request with 401 or 403. If it
	// returns nil, the request is authorized and sent again, at most three times. If
	// it returns an error, the call fails: errors.As finds that error in the error of
	// the call, and an HTTPError too. Challenged must not read the body of the
	// response.
	//
	// It is not called for the requests that cancel a call or end a session.
	Challenged(req *http.Request, resp *http.Response) error
}
