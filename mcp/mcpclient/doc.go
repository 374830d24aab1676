// Package mcpclient is the client of an MCP server of any revision.
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
// [Connect] finds out which revision of the protocol, and which transport, the
// server speaks. Nothing else of this package depends on what it found: the
// same calls, handlers and errors serve the session era, with its handshake,
// and the stateless era, in which every request stands alone.
//
// # When the server asks
//
// A server can need something while it works on a call: an answer of the user,
// a message of the model, the roots. In the session era it sends a request, in
// the stateless era it ends the call with a question and is called again with
// the answer. Both end at the same handlers in [Options]; to set one declares
// the capability.
//
// # Changes
//
// [Client.Watch] follows resources, the On… handlers of [Options] follow lists.
// Both survive a lost connection: they are put in place again, and what may have
// changed meanwhile counts as changed.
//
// # Extensions
//
// [Options].Extensions declares what the client has besides the core of the protocol,
// each as an [Extension]: those of the packages under mcpext (tasks, apps, skills), or
// one's own. [Client.Request] sends their requests, [Client.HasExtension] tells what
// the server has.
//
// # What is kept
//
// Servers of the stateless era say for how long a list or a resource may be kept,
// and the client believes them: the same question has the same answer until then,
// or until a notification says that it has changed. Handlers and Watch make the
// server send those. [NoCache] sends the request anyway. What is kept belongs to one client, so
// [Options].HTTP.Header and [Options].HTTP.Client have to act for one principal; what
// the server calls public is shared with nobody either. When [Options].HTTP.Auth comes with
// another token, everything is asked anew.
//
// # Credentials
//
// [Options].HTTP.Auth gives every HTTP request its credentials, and is asked for others when
// the server answers 401 or 403; the request is then sent again, at most three times. A
// *mcpauth.Client signs users in. Credentials never leave for another origin.
//
// # Lost connections
//
// A lost connection is made anew at the next call: a command is started again, a
// session is opened again, after a growing pause when that happens often. A command
// that ends five times within a minute is left alone for two minutes; calls fail at
// once meanwhile.
//
// A call that was under way fails with a [LostError]. Whether it was done nobody
// knows: [MayHaveRunError] says so, of this and every other request that was sent
// and got no answer. A call that has certainly not been begun is made again by
// itself: the server had forgotten the session (404), is leaving (503, and the
// connection closed), or refused headers or revision.
//
// # Time
//
//	one call           60 s without answer or progress, 10 minutes in all
//	connecting         30 s
//	probe              3 s of silence, over HTTP 10 s
//	idle session       ping every 30 s, three misses end it
//	Close              10 s
//
// Each has an option. None of them runs while [Options].HTTP.Auth gives a request its
// credentials, which can take as long as a user needs to sign in; Close does not wait
// for that. How calls, callbacks and goroutines relate is told at
// [Client].
package mcpclient
