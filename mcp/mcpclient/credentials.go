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

// credentials wraps Options.HTTP.Auth: when the token changes, no result of the old one is
// used, and it turns a panic into an error.
type credentials struct {
	auth   Authorizer
	client *Client

	mu   sync.Mutex
	last [sha256.Size]byte // hash of the last Authorization header
}

// authorizer returns the wrapped Options.HTTP.Auth, or nil if there is none.
func (c *Client) authorizer() httpclient.Authorizer {
	if c.credentials == nil {
		return nil
	}
	return c.credentials
}

// Authorize implements httpclient.Authorizer. A new token may belong to another
// principal or have other scopes, so results cached with the old one are dropped.
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
		c.client.cache.CredentialsChanged()
	}
	return nil
}

// inUse returns the hash of the last Authorization header, and false if there was none yet.
func (c *credentials) inUse() (hash [sha256.Size]byte, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.last != [sha256.Size]byte{}
}

// Challenged implements httpclient.Authorizer.
func (c *credentials) Challenged(req *http.Request, resp *http.Response) (err error) {
	defer c.client.recoverPanic("Options.HTTP.Auth", &err)
	return c.auth.Challenged(req, resp)
}

// checkAuth refuses options that set the Authorization header twice.
func (o *Options) checkAuth() error {
	for name := range o.HTTP.Header {
		if o.HTTP.Auth != nil && strings.EqualFold(name, headerAuthorization) {
			return errors.New("Options.HTTP.Auth is set and Options.HTTP.Header has Authorization: want one of them")
		}
	}
	return nil
}
