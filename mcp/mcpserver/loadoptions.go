package mcpserver

import (
	"cmp"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// LoadOptions say how much a server takes on at once, and how often its clients may
// ask for what costs most. Nil gives the defaults.
//
// A request that finds no room waits for its turn. When that takes too long, or too
// many wait, it is refused with an error that says when to try again: an *mcp.Error
// of CodeRateLimited, over HTTP with the status 429, where its sender has too much
// running itself, and of CodeOverloaded, over HTTP with 503, where all have together.
// Subscriptions and pings take no room.
//
// A share belongs to one authenticated principal or, for everybody else, to one
// session or connection. A request that has waited for half of MaxWait because the
// whole is taken ends the newest call of whoever has most running: an authenticated
// principal, or all who come from one address, IPv6 by networks of 64 bits. Its caller
// gets an error of CodeOverloaded that does not ask to try again. Where addresses tell
// nobody apart, as on the loopback interface, sessions and connections are compared.
// Rates count by principal or address, and there by session or connection. See
// HTTPOptions.TrustedProxies for servers behind a proxy.
type LoadOptions struct {
	// MaxCalls bounds the requests that run at once. Default: 4,096.
	MaxCalls int
	// MaxBytes bounds their params in bytes; a quarter of it may wait besides.
	// Default: 256 MiB.
	MaxBytes int
	// ShareCalls and ShareBytes bound one share. Default: 1,024, and 64 MiB.
	ShareCalls int
	ShareBytes int
	// MaxWaiting bounds the requests that wait for their turn. When more come, the
	// newest of whoever has most of them waiting is refused. Default: 1,024.
	MaxWaiting int
	// MaxWait is how long a request waits. A negative one is not at all. Default: 2
	// seconds.
	MaxWait time.Duration

	// MaxWatched bounds the resources that all sessions and subscriptions watch together;
	// one owner, an authenticated principal or else one session or connection, may watch a
	// quarter of them. A resource counts once for each 256 bytes of its URI that are begun,
	// and what an extension subscribes to by its bytes. When the bound is reached, the
	// newest of the owner that watches most ends: a subscriptions/listen request with an
	// error that says when to try again, a resource of a session after a last
	// notification. Default: 262,144.
	MaxWatched int

	// ToolRate is how often one principal or address may call tools, where it comes
	// over HTTP and not over the loopback interface. Default: 100 a second, 200 at
	// once.
	ToolRate mcp.Rate
	// CompletionRate is how often one principal or address may ask for
	// completion. Default: 50 a second, 100 at once.
	CompletionRate mcp.Rate
	// SubscriptionRate is how often one principal or address may subscribe,
	// where it comes over HTTP and not over the loopback interface. Default: 100 a
	// second, 1,100 at once.
	SubscriptionRate mcp.Rate
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
		"ToolRate.Burst": o.ToolRate.Burst, "CompletionRate.Burst": o.CompletionRate.Burst, "SubscriptionRate.Burst": o.SubscriptionRate.Burst,
	} {
		if n < 0 {
			return fmt.Errorf("load.%s: %d: want a positive number, or 0 for the default", name, n)
		}
	}
	return nil
}
