package httpclient

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// Authorizer gives requests their credentials. The clocks of a request stand still
// while it does.
type Authorizer interface {
	Authorize(req *http.Request) error
	Challenged(req *http.Request, resp *http.Response) error
}

// maxChallenges bounds how often one request is sent again with other credentials.
const maxChallenges = 3

// outgoing is one HTTP request, as often as it has to be sent.
type outgoing struct {
	method string
	to     *url.URL
	body   []byte
	header func(http.Header) // adds to what every request has

	session string // that it belongs to, or empty
}

// send sends a request and returns the response, whatever its status. One that is
// answered with 401 or 403 is sent again, with the same bytes, when there are other
// credentials to be had.
//
// Spec: 2026-07-28 basic/authorization#error-handling
func (p *ClientParams) send(ctx context.Context, o *outgoing) (*http.Response, error) {
	for challenges := 0; ; challenges++ {
		req, resp, err := p.sendOnce(ctx, o)
		if err != nil {
			return nil, err
		}
		if p.Auth == nil || !wantsCredentials(resp) || challenges == maxChallenges {
			return resp, nil
		}
		exhaust(resp.Body)
		resp.Body.Close()
		if err := p.challenged(req, resp); err != nil {
			return nil, fmt.Errorf("%w: %w", statusError(resp), err)
		}
	}
}

// sendOnce sends a request with the credentials that there are.
func (p *ClientParams) sendOnce(ctx context.Context, o *outgoing) (*http.Request, *http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, o.method, o.to.String(), bytes.NewReader(o.body))
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(req.Header, p.Header)
	o.header(req.Header)
	if err := p.authorize(req); err != nil {
		return nil, nil, &TransportError{Op: "authorize " + req.Method + " " + egress.Origin(req.URL), Err: err}
	}
	resp, err := p.HTTP.Do(req)
	if err != nil {
		return nil, nil, transportError(req, err)
	}
	return req, resp, nil
}

func (p *ClientParams) authorize(req *http.Request) error {
	if p.Auth == nil {
		return nil
	}
	defer exchange.Hold(req.Context())()
	return p.Auth.Authorize(req)
}

func (p *ClientParams) challenged(req *http.Request, resp *http.Response) error {
	defer exchange.Hold(req.Context())()
	return p.Auth.Challenged(req, resp)
}

func wantsCredentials(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
}
