package mcpotel

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/fondaco/fondaco/mcp"
)

// The keys of attributes, by the conventions for MCP and GenAI, and our own.
const (
	keyMethod     = attribute.Key("mcp.method.name")
	keyRevision   = attribute.Key("mcp.protocol.version")
	keySession    = attribute.Key("mcp.session.id")
	keyURI        = attribute.Key("mcp.resource.uri")
	keyTool       = attribute.Key("gen_ai.tool.name")
	keyPrompt     = attribute.Key("gen_ai.prompt.name")
	keyOperation  = attribute.Key("gen_ai.operation.name")
	keyID         = attribute.Key("jsonrpc.request.id")
	keyError      = attribute.Key("error.type")
	keyStatus     = attribute.Key("rpc.response.status_code")
	keyTransport  = attribute.Key("network.transport")
	keyProtocol   = attribute.Key("network.protocol.name")
	keyDirection  = attribute.Key("network.io.direction")
	keyLimit      = attribute.Key("fondaco.limit")
	keyRound      = attribute.Key("fondaco.round")
	keyResultType = attribute.Key("fondaco.result.type")
)

// durationBounds are the bounds of the buckets that the conventions recommend, in seconds.
var durationBounds = metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)

// sizeBounds are the bounds of the buckets for the sizes of messages, in bytes.
var sizeBounds = metric.WithExplicitBucketBoundaries(256, 1<<10, 4<<10, 16<<10, 64<<10, 256<<10, 1<<20, 4<<20, 16<<20)

// instruments are the tracer and the metrics of one server or client.
type instruments struct {
	options Options
	tracer  trace.Tracer

	duration        metric.Float64Histogram
	sessionDuration metric.Float64Histogram
	sessions        metric.Int64UpDownCounter
	limits          metric.Int64Counter
	sizes           metric.Int64Histogram

	base           metric.MeasurementOption // Options.Attributes
	received, sent metric.MeasurementOption // of sizes

	active   *activeCounts
	names    names // of tools, prompts and methods
	known    cache[preparedKey, *prepared]
	bySeries cache[series, *prepared]
	results  cache[series, []metric.RecordOption]
	reached  cache[reached, []metric.AddOption]   // by limit and method
	ended    cache[string, []metric.RecordOption] // sessions, by revision
}

// prepared is what is made once for the messages of a series that has no outcome yet.
type prepared struct {
	series
	title  string // of spans
	active *activeCount
	result []metric.RecordOption // of a message that succeeds
}

// preparedKey is what a series is made of, as a message has it.
type preparedKey struct {
	method, name      string
	revision          mcp.Revision
	overHTTP, inbound bool
}

// prepare returns what is made for a message, by one lookup if its method and name are known. create makes its series.
func (i *instruments) prepare(k preparedKey, create func(preparedKey) series) *prepared {
	if made := i.known.made.Load(); made != nil {
		if p, ok := (*made)[k]; ok {
			return p
		}
	}
	s := create(k)
	p := i.bySeries.get(s, func(s series) *prepared {
		return &prepared{s, s.spanName(), i.active.of(i, s.method), i.resultOf(s)}
	})
	if s.method == k.method && s.name == k.name { // what a peer makes up is not kept
		i.known.get(k, func(preparedKey) *prepared { return p })
	}
	return p
}

func (i *instruments) resultOf(s series) []metric.RecordOption {
	return []metric.RecordOption{i.with(s.attributes()...)}
}

// reached is what distinguishes the counts of limits.
type reached struct{ limit, method string }

// newInstruments returns the instruments of a side, which is server or client.
func newInstruments(o Options, side string) *instruments {
	i := &instruments{options: o, tracer: o.tracer(), names: names{max: o.maxNames()}}
	m := o.meter()
	errs := make([]error, 6)
	i.duration, errs[0] = m.Float64Histogram("mcp."+side+".operation.duration", durationBounds, metric.WithUnit("s"),
		metric.WithDescription("Duration of the requests and notifications that the "+side+" sends or handles."))
	i.sessionDuration, errs[1] = m.Float64Histogram("mcp."+side+".session.duration", durationBounds, metric.WithUnit("s"),
		metric.WithDescription("Duration of the sessions of the "+side+"."))
	i.active, errs[2] = newActiveCounts(m, side)
	i.sessions, errs[3] = m.Int64UpDownCounter("fondaco."+side+".sessions.active", metric.WithUnit("{session}"),
		metric.WithDescription("Open sessions and connections."))
	i.limits, errs[4] = m.Int64Counter("fondaco."+side+".limits.reached", metric.WithUnit("{limit}"),
		metric.WithDescription("Limits that were reached."))
	if o.MessageSizes {
		i.sizes, errs[5] = m.Int64Histogram("fondaco."+side+".message.size", sizeBounds, metric.WithUnit("By"),
			metric.WithDescription("Sizes of the messages that were received and sent."))
	}
	if err := errors.Join(errs...); err != nil {
		otel.Handle(err)
	}
	i.base = i.with()
	i.received, i.sent = i.with(keyDirection.String("receive")), i.with(keyDirection.String("transmit"))
	return i
}

// with returns the option of a measurement with attributes, in addition to those of all.
func (i *instruments) with(more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(slices.Concat(i.options.Attributes, more)...))
}

// method returns the method of a message as an attribute shows it. registered says that this program
// has a handler for it, or sends it.
func (i *instruments) method(method string, registered bool) string {
	if _, ok := protocolMethods[method]; ok {
		return method
	}
	if !registered {
		return other
	}
	return i.names.add(method)
}

// limitReached counts a limit that was reached.
func (i *instruments) limitReached(e mcp.LimitReached) {
	method := e.Method
	if method != "" {
		method = i.method(method, false)
	}
	i.limits.Add(context.Background(), 1, i.reached.get(reached{string(e.Limit), method}, func(k reached) []metric.AddOption {
		attrs := []attribute.KeyValue{keyLimit.String(k.limit)}
		if k.method != "" {
			attrs = append(attrs, keyMethod.String(k.method))
		}
		return []metric.AddOption{i.with(attrs...)}
	})...)
}

// message measures a message.
func (i *instruments) message(m mcp.WireMessage) {
	if len(m.Data) == 0 {
		return
	}
	direction := i.received
	if m.Sent {
		direction = i.sent
	}
	i.sizes.Record(context.Background(), int64(len(m.Data)), direction)
}

// sessionBegan and sessionEnded count sessions. The revision is zero for one that has negotiated none.
func (i *instruments) sessionBegan() { i.sessions.Add(context.Background(), 1, i.base) }

func (i *instruments) sessionEnded(lasted time.Duration, revision mcp.Revision) {
	i.sessions.Add(context.Background(), -1, i.base)
	if revision == (mcp.Revision{}) {
		return
	}
	i.sessionDuration.Record(context.Background(), lasted.Seconds(), i.ended.get(revision.String(), func(name string) []metric.RecordOption {
		return []metric.RecordOption{i.with(keyRevision.String(name))}
	})...)
}

// both returns a function that calls the two, of which the first may be nil.
func both[T any](first, second func(T)) func(T) {
	if first == nil {
		return second
	}
	return func(v T) {
		first(v)
		second(v)
	}
}

// cache keeps what is made of a key, for a limited number of keys. Reading takes no lock.
type cache[K comparable, V any] struct {
	mu   sync.Mutex              // held while an entry is added
	made atomic.Pointer[map[K]V] // never modified; nil is empty
}

// maxCached is the number of entries of a cache. What is made of other keys is not kept.
const maxCached = 4096

func (c *cache[K, V]) get(key K, create func(K) V) V {
	made := c.made.Load()
	if made != nil {
		if v, ok := (*made)[key]; ok {
			return v
		}
	}
	v := create(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	grown := map[K]V{}
	if made = c.made.Load(); made != nil {
		if known, ok := (*made)[key]; ok { // made at the same time
			return known
		}
		if len(*made) == maxCached {
			return v
		}
		grown = maps.Clone(*made)
	}
	grown[key] = v
	c.made.Store(&grown)
	return v
}
