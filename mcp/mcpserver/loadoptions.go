package mcpserver

import (
	"cmp"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// LoadOptions limit the requests that run at once, and the rates of the most expensive
// methods. Nil gives the defaults.
//
// A request above a limit waits. If it waits too long, or too many requests wait, it is
// refused with an error that says when to try again. When its own share is used up, the
// error is an *mcp.Error of CodeRateLimited, over HTTP with status 429. When the server's
// limits are reached, it is one of CodeOverloaded, over HTTP with status 503. Subscriptions
// and pings do not count. Notifications without a session, as over HTTP since 2026-07-28, count
// as requests, except for cancellations, which are never refused. A call that answers a question
// goes before new calls and is not refused because of these limits, see AskOptions.OwnerQuestions.
// Rates count it, but do not refuse it either.
//
// A share belongs to one authenticated principal, or else to one session or connection.
// When the server's limits are reached, a request that has waited for half of MaxWait
// ends the newest call of the owner that has most running. For this and for rates, the
// owner is an authenticated principal, or else an address: a network of 64 bits for IPv6.
// On the loopback interface, where clients have the same address, it is a session or
// connection. The ended call gets an error of CodeOverloaded without a time to try again.
// See HTTPOptions.TrustedProxies for servers behind a proxy.
type LoadOptions struct {
	// MaxCalls limits the requests that run at once. Default: 4,096.
	MaxCalls int
	// MaxBytes limits the bytes of their params. A quarter of it is the limit of the
	// requests that wait. Default: 256 MiB.
	MaxBytes int
	// ShareCalls and ShareBytes are the limits of one share. Default: 1,024, and 64 MiB.
	ShareCalls int
	ShareBytes int
	// MaxWaiting limits the requests that wait. Above it, the newest request of the owner
	// that has most waiting is refused. Default: 1,024.
	MaxWaiting int
	// MaxWait is how long a request waits at most. If it is negative, requests do not
	// wait. Default: 2 seconds.
	MaxWait time.Duration

	// MaxUnsent limits the bytes of results that are being sent, over all transports of the
	// server together: of results of more than 64 KiB, and on connections other than HTTP also
	// of smaller ones, once those of one connection have more than 64 KiB together. A result
	// counts until its client has accepted all of it. When the limit is reached, the connection
	// of the newest response of the owner that has most is closed, or a new response of that
	// owner is replaced: by the status 503 over Streamable HTTP, elsewhere by an error.
	// Default: 1 GiB.
	MaxUnsent int64

	// MaxKept limits the bytes that all anonymous clients together make the server keep beyond
	// the request that has brought them: what sessions know of their clients, params of calls
	// that wait for an answer or continue in the background, metadata and headers of
	// subscriptions and event streams, queued messages, states of calls in the Store, values of
	// mcpext/handles. One anonymous session or connection, and one address, may have a
	// quarter. Authenticated principals and local users have the same again, of which one may
	// have half. When the limit is reached, the owner that has most loses what has been unused
	// longest: a session, which a client can open again, messages without a stream, a state, a
	// handle; if nothing of it is unused, the newest thing. Without such an owner the request is
	// refused with an error of CodeOverloaded. Things of at most 2 KiB do not count, except for
	// states and handles; other limits bound their number.
	// Default: 64 MiB, or a quarter of MemoryStore.MaxBytes of Options.Store.
	MaxKept int64

	// MaxWatched limits the resources to which all sessions and subscriptions/listen
	// requests are subscribed together. One owner, an authenticated principal or else one
	// session or connection, may have a quarter of them. A resource counts once for each
	// started 256 bytes of its URI; subscriptions of extensions count by their bytes. When
	// the limit is reached, the newest subscription of the owner that has most is ended: a
	// subscriptions/listen request with an error that says when to try again, a resource of
	// a session after a last notification. Default: 262,144.
	MaxWatched int

	// ToolRate limits calls of tools per principal or address, over HTTP except for the
	// loopback interface. Default: 100 a second, 200 at once.
	ToolRate mcp.Rate
	// CompletionRate limits completion requests per principal or address. Default: 50 a
	// second, 100 at once.
	CompletionRate mcp.Rate
	// SubscriptionRate limits subscriptions per principal or address, over HTTP except for
	// the loopback interface. Default: 100 a second, 1,100 at once.
	SubscriptionRate mcp.Rate

	// SharedRates makes all replicas together keep the rates of each authenticated principal:
	// the three rates above, and those of tools (Rate). It requires Options.Store and
	// Options.Keys, the same for all replicas. A replica makes at most one operation of the
	// Store in a second for each rate of a principal that has calls then, and no call waits for
	// it. Rates of at least 20 a second are kept within 10
	// percent over 10 seconds, if the burst is at least two calls for each replica; a burst of
	// more than four seconds of the rate counts as four seconds. At first,
	// and while the Store fails, each replica has the rate divided by the number of replicas.
	// Rates of addresses and connections stay those of each replica. A server with this option
	// needs a Shutdown. Default: each replica counts for itself.
	SharedRates bool
}

func (o *LoadOptions) orZero() *LoadOptions {
	if o == nil {
		return new(LoadOptions)
	}
	return o
}

func (o *LoadOptions) maxCalls() int   { return cmp.Or(o.orZero().MaxCalls, 4096) }
func (o *LoadOptions) maxBytes() int   { return cmp.Or(o.orZero().MaxBytes, 256<<20) }
func (o *LoadOptions) shareCalls() int { return cmp.Or(o.orZero().ShareCalls, 1024) }
func (o *LoadOptions) shareBytes() int { return cmp.Or(o.orZero().ShareBytes, 64<<20) }
func (o *LoadOptions) maxWaiting() int { return cmp.Or(o.orZero().MaxWaiting, 1024) }

func (o *LoadOptions) maxWatched() int { return cmp.Or(o.orZero().MaxWatched, 262_144) }

func (o *LoadOptions) maxUnsent() int64 { return cmp.Or(o.orZero().MaxUnsent, 1<<30) }

func (o *LoadOptions) maxWait() time.Duration {
	return max(cmp.Or(o.orZero().MaxWait, 2*time.Second), 0)
}

func (o *LoadOptions) toolRate() mcp.Rate {
	return rateOr(o.orZero().ToolRate, mcp.Rate{PerSecond: 100, Burst: 200})
}

func (o *LoadOptions) completionRate() mcp.Rate {
	return rateOr(o.orZero().CompletionRate, mcp.Rate{PerSecond: 50, Burst: 100})
}

// subscriptionRate lets a session watch at once all that it may.
func (o *LoadOptions) subscriptionRate() mcp.Rate {
	return rateOr(o.orZero().SubscriptionRate, mcp.Rate{PerSecond: 100, Burst: 1100})
}

func rateOr(r, otherwise mcp.Rate) mcp.Rate {
	if r.PerSecond == 0 {
		return otherwise
	}
	return r
}

// check says which option makes no sense.
func (o *LoadOptions) check() error {
	o = o.orZero()
	for name, n := range map[string]int{
		"MaxCalls": o.MaxCalls, "MaxBytes": o.MaxBytes, "ShareCalls": o.ShareCalls, "ShareBytes": o.ShareBytes, "MaxWaiting": o.MaxWaiting, "MaxWatched": o.MaxWatched,
		"MaxUnsent":      int(o.MaxUnsent),
		"MaxKept":        int(o.MaxKept),
		"ToolRate.Burst": o.ToolRate.Burst, "CompletionRate.Burst": o.CompletionRate.Burst, "SubscriptionRate.Burst": o.SubscriptionRate.Burst,
	} {
		if n < 0 {
			return fmt.Errorf("load.%s: %d: want a positive number, or 0 for the default", name, n)
		}
	}
	return nil
}
