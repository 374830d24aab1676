package mcpclient

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/httpclient"
)

const headerAuthorization = "Authorization"

// credentials is the Authorizer of the options as the client uses it: what was kept
// goes when the token changes, and a panic is an error.
type credentials struct {
	auth   Authorizer
	cache  *cache
	client *Client

	mu   sync.Mutex
	last [sha256.Size]byte // of the Authorization header that was sent last
}

// authorizer returns what gives requests their credentials, or nil.
func (c *Client) authorizer() httpclient.Authorizer {
	if c.credentials == nil {
		return nil
	}
	return c.credentials
}

// Authorize implements httpclient.Authorizer. Another token can be that of another
// principal, or let the same one see more.
//
// Spec: 2026-07-28 server/utilities/caching
func (c *credentials) Authorize(req *http.Request) (err error) {
	defer c.client.recoverPanic("Options.HTTP.Auth", &err)
	if err := c.auth.Authorize(req); err != nil {
		return err
	}
	now := sha256.Sum256([]byte(strings.Join(req.Header[headerAuthorization], "\n")))
	c.mu.Lock()
	changed := now != c.last
	c.last = now
	c.mu.Unlock()
	if changed {
		c.cache.invalidateAll()
	}
	return nil
}

// Challenged implements httpclient.Authorizer.
func (c *credentials) Challenged(req *http.Request, resp *http.Response) (err error) {
	defer c.client.recoverPanic("Options.HTTP.Auth", &err)
	return c.auth.Challenged(req, resp)
}

// checkAuth refuses two sources of one header.
func (o *Options) checkAuth() error {
	for name := range o.HTTP.Header {
		if o.HTTP.Auth != nil && strings.EqualFold(name, headerAuthorization) {
			return errors.New("Options.HTTP.Auth is set and Options.HTTP.Header has Authorization: want one of them")
		}
	}
	return nil
}
