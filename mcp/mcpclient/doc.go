// Package mcpclient implements clients of MCP servers of any revision.
//
//	c, err := mcpclient.Connect(ctx, mcpclient.URL("https://mcp.example.com/mcp"), nil)
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	for tool, err := range c.Tools(ctx) {
//		…
//	}
//	sum, err := c.Call[Sum](ctx, "add", Pair{1, 2})
//
// [Connect] detects the revision of the protocol and the transport of the server. The
// rest of this package does not depend on them: the same calls, handlers and errors work
// in the session era, which has a handshake, and in the stateless era, in which every
// request is independent.
//
// # Elicitation, sampling and roots
//
// While a server processes a call it may need input: an answer of the user
// (elicitation), a message of the model (sampling), or the roots. In the session era it
// sends a request; in the stateless era it ends the call with the questions, and the
// client repeats the call with the answers. Both use the same handlers in [Options].
// Setting a handler declares the capability.
//
// # Changes
//
// [Client.Watch] reports changes of resources, and the On…Changed handlers of [Options]
// report changes of lists. Both continue after a lost connection: the client subscribes
// again and reports everything that may have changed meanwhile.
//
// # Names of the specification
//
// These names implement the messages of the specification:
//
//	elicitation/create                  Options.ElicitForm, Options.ElicitURL
//	sampling/createMessage              Options.Sample
//	roots/list                          Options.Roots
//	tools/call                          Client.Call, Client.CallTool
//	structuredContent                   Client.Call decodes and validates it
//	pagination of lists                 automatic: Client.Tools and the like
//	resources/subscribe                 Client.Watch
//	notifications/.../list_changed      Options.OnToolsChanged and the like
//	resources/templates/list            Client.Templates
//	notifications/progress              WithProgress
//	notifications/cancelled             automatic, when the context of a call ends
//	logging/setLevel                    Client.SetLogLevel
//	completion/complete                 Client.Complete, Client.Completer
//
// # Extensions
//
// [Options].Extensions lists the extensions of the protocol that the client supports,
// each an [Extension]: those of the packages under mcpext (tasks, apps, skills), or your
// own. [Client.Request] sends their requests, and [Client.HasExtension] reports what the
// server supports.
//
// # Several servers
//
// A [Group] lists the features of several servers under unique names and routes each
// request to the server that has the feature.
//
// # Stored knowledge of a server
//
// [Client.Prior] returns what was negotiated, and [Options].Prior uses it to connect without
// a round trip. [Options].Pins compares definitions with those that the user has approved.
//
// # Caching
//
// Servers of the stateless era declare how long a list or a resource may be cached. The
// client then answers equal requests from its cache, until the time has passed or a
// notification reports a change. Servers send such notifications for the handlers of
// changes and for Watch. [NoCache] bypasses the cache. By default results are not shared
// between clients, even if the server declares them as public, so [Options].HTTP.Header and
// [Options].HTTP.Client have to act for one principal. When [Options].HTTP.Auth sends
// another token, the client clears its cache. With [Options].Cache, clients share results in
// a store, and use stale ones while the server fails.
//
// # Credentials
//
// [Options].HTTP.Auth adds credentials to every HTTP request. When the server answers
// with 401 or 403, it can get new ones, and the request is sent again, at most three
// times. *mcpauth.Client implements sign-in with OAuth. Credentials are never sent to
// another origin.
//
// # Lost connections
//
// The client reconnects at the next call after a connection was lost: it starts the
// command or opens a session again. If that happens often, there is a growing pause
// before. A command that ends five times within a minute is suspended for two minutes,
// in which calls fail at once.
//
// A call in flight fails with a [LostError]. Its chain has a [MayHaveRunError], because
// the server may have processed the call; so have the errors of all other requests that
// were sent without getting a response. The client itself repeats a call that the server
// certainly has not begun: the server no longer knew the session, was shutting down (503
// with Retry-After, and it closed the connection), or refused the headers or the
// revision.
//
// A session over HTTP is lost when the server answers 404, or 400 with a body that is not
// the answer to the request: an error without its id, or with the code -32000 or -32600,
// or no JSON. Calls that see the same loss share one new session, and each is sent again
// once. The others in flight may still get their results, for up to 5 s; then the old
// session is deleted. If a repeated call gets 400 again, the first 400 is its error, and
// for a minute 400 is not taken for the loss of a session. Subscriptions, the log level
// and the stream of notifications are opened again in the new session.
//
// # Timeouts
//
//	one call           60 s without response or progress, 10 minutes in all
//	connecting         30 s
//	probe              3 s without response, over HTTP 10 s
//	idle session       ping every 30 s; three without response end it
//	Close              10 s
//
// Each has an option. All but that of Close are paused while [Options].HTTP.Auth gets
// credentials, which can take as long as a user needs to sign in. [Client] documents the
// concurrency of calls and handlers.
package mcpclient
