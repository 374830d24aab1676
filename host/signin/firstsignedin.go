package signin

import (
	"context"
	"net/http"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// FirstSignedIn is Authorizer for several stores: each request has the token of the first store that has one for the
// upstream. If none has, the first store is asked, and notes what the upstream wants.
func FirstSignedIn(u *host.Upstream, stores ...*TokenStore) mcpclient.Authorizer {
	address, ok := URL(u)
	if !ok {
		return nil
	}
	all := firstSignedIn{address: address}
	for _, s := range stores {
		all.authorizers = append(all.authorizers, explainingAuthorizer{s.Client(u, nil), u})
	}
	return all
}

type firstSignedIn struct {
	address     string
	authorizers []explainingAuthorizer
}

func (f firstSignedIn) Authorize(req *http.Request) error {
	return f.current(req.Context()).Authorize(req)
}

func (f firstSignedIn) Challenged(req *http.Request, resp *http.Response) error {
	return f.current(req.Context()).Challenged(req, resp)
}

// current returns the authorizer of the first store with a token. One that cannot be read has the error of the request.
func (f firstSignedIn) current(ctx context.Context) explainingAuthorizer {
	for _, a := range f.authorizers {
		if held, err := a.client.Status(ctx, f.address); held != nil || err != nil {
			return a
		}
	}
	return f.authorizers[0]
}
