package mcpclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/resultcache"
	"github.com/fondaco/fondaco/mcp/internal/sharedcache"
)

// CacheOptions say where the client caches lists and resources. By default they are in the
// memory of this client, see LimitOptions.MaxCache.
type CacheOptions struct {
	// Store keeps the cached results instead, so that clients share them, in one process or
	// in many. All clients of one store need the same Key. Default: the memory of the client.
	//
	// Results are shared between clients with equal Server, Principal, capabilities, Info and
	// revision. Private results, which are all that the server does not declare as public, are
	// also bound to HTTP.Header and to the Authorization header that HTTP.Auth sends: a new
	// token begins without private results. Values are encrypted and authenticated with Key,
	// so others can write to the store without harm, except that they can delete results, and
	// bring back those that are still fresh. A list from the store is checked as one
	// from the server: Pins apply, and calls of pinned tools need one of the last 5 minutes.
	//
	// A notification of a change removes the results from the store, for all clients of the
	// partition; a changed resource removes the contents of all resources. One result has at
	// most 256 KiB. A server has at most 256 of them for each principal and token, and 256
	// public ones. A request waits for the store for at most a second, and the storing of
	// its result for another; then the store is not used for 5 seconds, and the log says so.
	// It never fails a request.
	Store mcp.Store
	// Key is the secret with which results are encrypted, and from which the names of
	// partitions are derived: at least 32 random bytes. Clients with another key
	// share nothing. It is required with Store.
	Key []byte
	// Principal is the program's name for the user that this client acts for: without
	// SharePublic, results of one principal are never used for another one. HTTP.Client,
	// HTTP.Header and HTTP.Auth have to act for it. It is required with Store.
	Principal string
	// Server names the server. Default: the URL of the target, with its query. Targets
	// without a URL need a name: a name that two servers share mixes their results.
	Server string
	// SharePublic shares results that the server declares as public between all principals.
	// It is off by default, because the server alone decides what is public: a server that
	// is mistaken gives the data of one user to the others, and a hostile one
	// can show every user what it has made for one of them, such as tool definitions. Use it
	// for servers that you trust to keep users apart.
	SharePublic bool

	// StaleIfError is for how long the client uses a result after its time has passed, if the
	// server cannot be reached, does not answer in time, or reports a failure of its own: HTTP
	// 5xx, or an internal error or overload in the protocol. It is at most 24 hours. Zero
	// turns that off. While the server fails, requests with such a result are sent again after
	// a pause of 500 ms, which grows up to a minute.
	//
	// A lost connection makes all results of the client stale. No stale result is used after a
	// 401 or 403 or another failure of credentials, with NoCache, after the server has
	// reported a change, and for reads of resources with PinOptions.Server.
	StaleIfError time.Duration
	// OnStale is called for each stale result that is used, before the request returns it,
	// with the context of the request and on its goroutine. Default: the log says so.
	OnStale func(context.Context, StaleResult)
}

// StaleResult describes a result that was used after its time had passed.
type StaleResult struct {
	// Method is that of the request, such as mcp.MethodToolsList.
	Method string
	// URI is that of the resource for resources/read, and empty otherwise.
	URI string
	// ReceivedAt is when the server sent the result, by the clock of the client that
	// received it.
	ReceivedAt time.Time
	// Err is why the request failed, or the one before it.
	Err error
}

// maxStaleIfError bounds CacheOptions.StaleIfError.
const maxStaleIfError = 24 * time.Hour

// check returns an error for invalid options.
func (o *CacheOptions) check() error {
	switch {
	case o.StaleIfError < 0 || o.StaleIfError > maxStaleIfError:
		return fmt.Errorf("Options.Cache.StaleIfError is %v; want 0 to %v", o.StaleIfError, maxStaleIfError)
	case o.Store == nil:
		return nil
	case o.Principal == "":
		return errors.New("Options.Cache.Store is set without Options.Cache.Principal; want the name of the user that the client acts for")
	case len(o.Key) < sharedcache.MinKey:
		return fmt.Errorf("Options.Cache.Key has %d bytes; want at least %d random ones with Options.Cache.Store", len(o.Key), sharedcache.MinKey)
	}
	return nil
}

// newCache returns the cache of the client. Its options have been checked.
func (c *Client) newCache() (resultcache.Cache, error) {
	o := &c.opts.Cache
	if o.Store == nil || c.opts.maxCache() < 0 {
		return resultcache.NewMemory(c.opts.maxCache(), o.StaleIfError), nil
	}
	t, isURL := c.target.(urlTarget)
	server := cmp.Or(o.Server, t.url)
	if server == "" {
		return nil, errors.New("Options.Cache.Store is set and the target has no URL; want Options.Cache.Server to name the server")
	}
	return sharedcache.New(sharedcache.Params{
		Store: o.Store, Key: o.Key, Server: server, Principal: o.Principal,
		Authorization: func() (string, bool) { return c.authorization(isURL) },
		SharePublic:   o.SharePublic, StaleFor: o.StaleIfError,
		Context: c.ctx, Go: c.goTracked,
		Failed: func(err error) {
			c.opts.logger().Warn("the store of the cache failed", "server", c.target.String(), "error", err)
		},
	})
}

// authorization returns what the private results of the client are bound to, and false if
// HTTP.Auth has not sent anything yet.
func (c *Client) authorization(isURL bool) (string, bool) {
	if !isURL {
		return "", true
	}
	var text strings.Builder
	header := c.opts.HTTP.Header
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&text, "%q: %q\n", name, header[name])
	}
	if c.credentials == nil {
		return text.String(), true
	}
	var hash [sha256.Size]byte
	hash, known := c.credentials.inUse()
	text.Write(hash[:])
	return text.String(), known
}
