package wire

import (
	"reflect"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// A role is the use of a type with metadata in messages.
type role int

const (
	part         role = iota // of something else
	request                  // the params of one
	input                    // a question inside of a result
	notification             // the params of one
	result
)

// metaOf adds the schema of a type's metadata, which depends on its role and the revision.
func (g *generator) metaOf(t reflect.Type, m member) member {
	switch role := g.roleOf(t); {
	case m.form != nil:
	case role == request:
		m.form = requestMeta
		m.required = stateless
	case role == input:
		m.exists = never
	case role == notification:
		m.form = notificationMeta
	case role == result:
		m.form = resultMeta
	}
	return m
}

// questions are the requests that the stateless era sends inside of a result.
var questions = []string{mcp.MethodElicit, mcp.MethodCreateMessage}

func (g *generator) roleOf(t reflect.Type) role {
	for _, m := range g.methods {
		switch {
		case m.Params == nil || reflect.TypeOf(m.Params) != t:
		case len(m.Results) > 0:
			return request
		default:
			return notification
		}
	}
	if slices.ContainsFunc(questions, func(m string) bool { return reflect.TypeOf(requests[m].Params) == t }) {
		return input
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[mcp.Result]()) {
		return result
	}
	return part
}

// requestMeta is the schema of the metadata of requests of the stateless era.
func requestMeta(g *generator) node {
	return g.define("RequestMeta", func(g *generator) node {
		properties := node{mcp.MetaProgressToken: g.of(reflect.TypeFor[mcp.ProgressToken]())}
		out := node{"type": "object", "properties": properties}
		if g.facts.Era == dialect.StatelessEra {
			properties[mcp.MetaProtocolVersion] = node{"type": "string"}
			properties[mcp.MetaClientCapabilities] = g.of(reflect.TypeFor[mcp.ClientCapabilities]())
			properties[mcp.MetaClientInfo] = g.of(reflect.TypeFor[mcp.Implementation]())
			properties[mcp.MetaLogLevel] = g.of(reflect.TypeFor[mcp.LoggingLevel]())
			out["required"] = []string{mcp.MetaClientCapabilities, mcp.MetaProtocolVersion}
		}
		return out
	})
}

func notificationMeta(g *generator) node {
	return g.metadata("NotificationMeta", mcp.MetaSubscriptionID, requestID)
}

func resultMeta(g *generator) node {
	return g.metadata("ResultMeta", mcp.MetaServerInfo, of[mcp.Implementation])
}

// subscriptionMeta is the schema of the metadata of the result that ends a subscription.
func subscriptionMeta(g *generator) node {
	return node{"allOf": []any{resultMeta(g), notificationMeta(g), node{"required": []string{mcp.MetaSubscriptionID}}}}
}

// metadata defines metadata with one key that the stateless era defines.
func (g *generator) metadata(name, key string, value form) node {
	return g.define(name, func(g *generator) node {
		out := node{"type": "object"}
		if g.facts.Era == dialect.StatelessEra {
			out["properties"] = node{key: value(g)}
		}
		return out
	})
}
