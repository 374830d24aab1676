package httpserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/replica"
	"github.com/fondaco/fondaco/host/revocation"
	"github.com/fondaco/fondaco/mcp"
)

// Revocations refuse what the user has revoked, in a running host. Those of nil refuse nothing. They are safe
// for concurrent use.
//
//	protect    Host and Origin ─ token revoked? ─ mcpauth.Protect ─ principal revoked? ─ MCP
//	apply      reads the list again, and ends requests, sessions and connections
type Revocations struct {
	list    *revocation.List
	store   VersionedStore
	gateway *gateway.Gateway
	log     *slog.Logger
	loaded  string // version of the list when it was first read

	applying sync.Mutex               // one apply at a time
	ended    map[string]control.Ended // guarded by applying: by name, until EndedFor returns it

	mu      sync.Mutex
	running map[*revocableRequest]bool // guarded by mu
	// holders are the principals of the tokens that were used, by revocation.TokenName.
	// Guarded by mu.
	holders map[string]mcp.Principal
}

// maxHolders limits the tokens whose principal is remembered. When it is reached, all are
// forgotten: the sessions of a token that is revoked then end when they are idle.
const maxHolders = 10_000

// maxEnded limits the names for which it is remembered what their revocation has ended, until the command that
// has revoked them asks. When it is reached, all are forgotten.
const maxEnded = 10_000

// revocableRequest is a request that is being served.
type revocableRequest struct {
	token     string // its revocation.TokenName
	principal mcp.Principal
	cancel    context.CancelCauseFunc
}

// VersionedStore is a store that tells when one of its sections has changed.
type VersionedStore interface {
	mcp.Store
	// Version returns another text whenever an entry of a section was written or deleted.
	Version(section string) string
}

// OpenRevocations reads the list of what is revoked from a store. What other processes revoke later is refused while
// StartWatching runs, and after EndedFor; what clients of the gateway do then ends, too. If the list cannot be read
// it returns an error: then nobody may be served.
func OpenRevocations(ctx context.Context, store VersionedStore, g *gateway.Gateway, log *slog.Logger) (*Revocations, error) {
	r := &Revocations{
		list: revocation.Open(store), store: store, gateway: g, log: log,
		ended: make(map[string]control.Ended), running: make(map[*revocableRequest]bool), holders: make(map[string]mcp.Principal),
	}
	r.loaded = store.Version(revocation.Section) // before the list is read, so that no change is missed
	if _, err := r.list.Load(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// StartWatching applies changes of the list until the function that it returns is called.
func (r *Revocations) StartWatching(ctx context.Context) (end func()) {
	if r == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.watch(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// watchInterval is how often the list is checked.
const watchInterval = 500 * time.Millisecond

// settled is how old the last change of the list has to be before it is not read again: two
// changes within one step of the file system's clock have the same time.
const settled = 2 * time.Second

// watch applies changes of the list that other processes make, until ctx is done.
func (r *Revocations) watch(ctx context.Context) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	failed := "" // the version of the last failure, which is logged once
	seen, since := r.loaded, time.Now()
	for known := r.loaded; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := r.store.Version(revocation.Section)
		if now != seen {
			seen, since = now, time.Now()
		}
		if now == known && time.Since(since) > settled {
			continue
		}
		err := r.apply(ctx)
		switch {
		case err == nil:
			known = now
		case now != failed:
			failed = now
			r.log.Error("revocations: all credentials are refused until the list can be read", "error", err)
		}
	}
}

var errRevoked = errors.New("the credentials were revoked")

// EndedFor applies the list and returns what was ended for a name, here or by watch, which may have
// noticed the change before.
func (r *Revocations) EndedFor(ctx context.Context, name string) (control.Ended, error) {
	if r == nil {
		return control.Ended{}, nil
	}
	err := r.apply(ctx)
	r.applying.Lock()
	defer r.applying.Unlock()
	ended := r.ended[name]
	delete(r.ended, name)
	return ended, err
}

// apply reads the list again, refuses what is new in it, and ends what runs for it.
func (r *Revocations) apply(ctx context.Context) error {
	r.applying.Lock()
	defer r.applying.Unlock()
	added, err := r.list.Load(ctx)
	if err != nil || len(added) == 0 {
		return err
	}
	names, ended := r.withHolders(added), control.Ended{}
	ended.Requests = r.cancelRequests(names)
	ended.Sessions, ended.Connections = r.gateway.EndCallers(func(p mcp.Principal, client *mcp.Implementation) bool {
		return revocation.Matches(names, p, client)
	})
	r.noteEnded(added, ended)
	return nil
}

// noteEnded notes what was ended for names, which are counted together. The caller holds applying.
func (r *Revocations) noteEnded(names []string, ended control.Ended) {
	for _, name := range names {
		if _, known := r.ended[name]; !known && len(r.ended) >= maxEnded {
			clear(r.ended)
		}
		r.ended[name] = ended
	}
}

// withHolders adds the principals of revoked tokens to the names.
func (r *Revocations) withHolders(names []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(names)
	for _, name := range names {
		for _, token := range []string{name, revocation.TokenName(name)} {
			if p, ok := r.holders[token]; ok {
				all = append(all, p.String())
				delete(r.holders, token)
			}
		}
	}
	return all
}

// cancelRequests cancels the requests of the names.
func (r *Revocations) cancelRequests(names []string) (cancelled int) {
	r.mu.Lock()
	var matching []*revocableRequest
	for request := range r.running {
		if slices.Contains(names, request.token) || revocation.Matches(names, request.principal, nil) {
			matching = append(matching, request)
		}
	}
	r.mu.Unlock()
	for _, request := range matching {
		request.cancel(errRevoked)
	}
	return len(matching)
}

type tokenNameKey struct{}

// protect returns a handler that refuses revoked tokens before authentication, and revoked
// principals after it. authenticate adds the authentication in between. Host and Origin are checked
// before either, so that a web page of another origin learns nothing about credentials.
func (r *Revocations) protect(h endpoint, authenticate func(http.Handler) http.Handler) http.Handler {
	authenticated := authenticate(endpoint{http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.serveAuthenticated(w, request, h)
	}), h.admitter})
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if ticket := replica.TicketFrom(request.Context()); ticket != nil {
			r.serveForwarded(w, request, ticket.Identity, h)
			return
		}
		scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "DPoP") {
			authenticated.ServeHTTP(w, request)
			return
		}
		token = strings.TrimSpace(token)
		if err := r.list.Check(revocation.TokenName(token), mcp.PrincipalAnonymous); err != nil {
			if h.Admit(w, request) {
				refuseRevoked(w, request, err)
			}
			return
		}
		ctx := context.WithValue(request.Context(), tokenNameKey{}, revocation.TokenName(token))
		authenticated.ServeHTTP(w, request.WithContext(ctx))
	})
}

// serveForwarded serves a request of which another host has verified the credentials. What is revoked
// is refused here, too.
func (r *Revocations) serveForwarded(w http.ResponseWriter, request *http.Request, by *replica.Identity, h http.Handler) {
	if by == nil {
		refuseHTTP(w, request, "another host has forwarded a request without credentials, which this one requires", http.StatusUnauthorized)
		return
	}
	ctx := mcp.WithIdentity(request.Context(), by.MCP())
	if by.Token != "" {
		ctx = context.WithValue(ctx, tokenNameKey{}, by.Token)
	}
	r.serveAuthenticated(w, request.WithContext(ctx), h)
}

// tokenNameFrom returns the name by which the token of a request can be revoked, or empty.
func tokenNameFrom(ctx context.Context) string {
	name, _ := ctx.Value(tokenNameKey{}).(string)
	return name
}

// serveAuthenticated serves a request unless its principal is revoked, and until it is. A request
// that a revocation ends before its response has started is refused as later ones are.
func (r *Revocations) serveAuthenticated(w http.ResponseWriter, request *http.Request, h http.Handler) {
	identity := mcp.IdentityFrom(request.Context())
	if identity == nil {
		h.ServeHTTP(w, request)
		return
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	defer cancel(nil)
	token := tokenNameFrom(ctx)
	running := &revocableRequest{token: token, principal: identity.Principal, cancel: cancel}
	r.add(running)
	defer r.remove(running)
	// After add, so that apply finds the request or the check finds the revocation.
	if err := r.list.Check(token, identity.Principal); err != nil {
		refuseRevoked(w, request, err)
		return
	}
	response := &startedWriter{ResponseWriter: w}
	h.ServeHTTP(response, request.WithContext(ctx))
	if context.Cause(ctx) == errRevoked && !response.started {
		refuseRevoked(w, request, revocation.ErrRevoked)
	}
}

func (r *Revocations) add(request *revocableRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[request] = true
	if request.token == "" {
		return
	}
	if _, known := r.holders[request.token]; !known && len(r.holders) >= maxHolders {
		clear(r.holders)
	}
	r.holders[request.token] = request.principal
}

func (r *Revocations) remove(request *revocableRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, request)
}

// refuseRevoked answers a request whose credentials are revoked or cannot be checked.
func refuseRevoked(w http.ResponseWriter, request *http.Request, err error) {
	if !errors.Is(err, revocation.ErrRevoked) {
		refuseHTTP(w, request, "the host cannot check whether the credentials were revoked", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="it was revoked"`)
	refuseHTTP(w, request, errRevoked.Error(), http.StatusUnauthorized)
}
