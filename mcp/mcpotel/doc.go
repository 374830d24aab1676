// Package mcpotel reports what servers and clients do to OpenTelemetry: spans and metrics by its
// semantic conventions for MCP, and trace ids in logs. One line adds it:
//
//	srv := mcpserver.New("weather", "1.2.0", mcpotel.Server(nil, nil))
//	c, err := mcpclient.Connect(ctx, target, mcpotel.Client(nil, nil))
//
// The package uses the API of OpenTelemetry alone. The program chooses an SDK and exporters, and
// sets them with otel.SetTracerProvider and otel.SetMeterProvider, or in [Options]. Without an SDK
// nothing is reported.
//
// Trace contexts are read from and written to the _meta of messages (traceparent, tracestate and
// baggage), whatever otel.SetTextMapPropagator has set.
//
// # Metrics
//
//	mcp.server.operation.duration    s, histogram: requests and notifications, by method and name
//	mcp.server.session.duration      s, histogram: sessions of the session era
//	mcp.client.operation.duration    s, histogram
//	mcp.client.session.duration      s, histogram
//	fondaco.server.requests.active   requests that are handled now, by method
//	fondaco.server.sessions.active   sessions of Streamable HTTP, and connections of other transports
//	fondaco.server.limits.reached    limits that were reached, by limit and method
//	fondaco.server.message.size      By, histogram, by direction: only with Options.MessageSizes
//	fondaco.client.requests.active   and so on, the same for clients
//
// The number of series is limited, whatever a peer sends: a server counts only the names of tools and
// prompts that it has, a client those that a server has answered for, at most [Options.MaxNames] of
// both; other names are _OTHER. No attribute of a metric is an id, a URI or a text of a peer.
//
// Spec: https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md
package mcpotel
