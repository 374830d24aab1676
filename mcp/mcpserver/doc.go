// Package mcpserver writes MCP servers: programs that offer tools, resources and
// prompts to AI applications.
//
//	srv := mcpserver.New("airline", "1.0.0", nil)
//	srv.Tool("status", "Status of a flight", status, mcpserver.ReadOnly())
//	mcpserver.Main(srv)
//
// Handlers are ordinary functions of a context and a struct. Their schemas are
// inferred. Arguments are validated before a handler runs, and results after it. The
// context gives access to the call: the caller's identity, progress, cancellation, and
// elicitation. One Server serves every revision of the protocol over every transport: Run
// is stdio, HTTPHandler is Streamable HTTP, EventStreamHandler is HTTP+SSE, and Serve
// takes any mcp.Conn.
//
// # Arguments
//
// The fields of a struct are the arguments, under the names of their json tags.
// A field with omitzero, with a default, or that is a pointer is optional; all others
// are required. A null for an optional argument counts as missing. Other keywords of JSON
// Schema are set by struct tags:
//
//	doc:"day of departure"    description, for models and people
//	title:"Day"               name for people
//	enum:"window|aisle"       the only values, separated by |
//	default:"1"               value of a missing argument
//	const:"v1"                the only value
//	example:"AZ612"           an example
//	min:"1" max:"9"           bounds of a number; xmin, xmax exclude the bound
//	multiple:"0.5"            the number is a multiple of it
//	minlen:"2" maxlen:"80"    characters of a string
//	pattern:"^[A-Z]{2}"       regular expression (RE2) that a string matches
//	format:"date"             such as date, date-time, email, uri, uuid
//	minitems:"1" maxitems:"5" items of a list
//	unique:"true"             no item of a list occurs twice
//	header:"Region"           mirrored in the HTTP header Mcp-Param-Region
//
// Integers, floats, strings, booleans, slices, maps with string keys, structs,
// time.Time and []byte (Base64) have inferred schemas. A type with JSON methods of its own
// needs a method JSONSchema() jsontext.Value. A type or tag that is not valid panics at
// registration, and the message says what to write instead. The same tags describe results.
//
// # Elicitation, sampling, progress and notifications
//
// [Ask] asks the user by a form (elicitation/create), [Sample] asks the client's model
// (sampling/createMessage). [AskAll] asks several questions in one round: [ElicitForm] and
// [ElicitURL] ask the user, [SampleQuestion] asks the model, [ListRoots] gets the client's
// roots (roots/list). They work in every revision that has such requests. A handler that asks may be run again from
// the top, see [Ask]. [Progress] sends progress. When the client cancels a call, the
// handler's context ends. [Server.Updated] notifies subscribers of a changed resource
// (resources/subscribe). The list_changed notifications are sent automatically when
// features are added, replaced, enabled or removed. The server answers ping itself.
//
// These names implement the messages of the specification:
//
//	tools/list, tools/call              Server.Tool; results are structuredContent, too
//	resources/list, resources/read      Server.Resource, Server.Template
//	prompts/list, prompts/get           Server.Prompt
//	pagination of lists                 automatic; Options.PageSize
//	elicitation/create in mode form     Ask, AskAll with ElicitForm
//	elicitation/create in mode url      AskAll with ElicitURL, URLElicitationRequired
//	sampling/createMessage              Sample, AskAll with SampleQuestion
//	roots/list                          AskAll with ListRoots
//	resources/templates/list            Server.Template registers a resource template
//	resources/subscribe                 automatic; Server.Updated reports a change
//	subscriptions/listen                automatic, the same in the stateless era
//	notifications/resources/updated     Server.Updated
//	notifications/.../list_changed      automatic: Server.Tool, SetTool, RemoveTool and so on
//	notifications/progress              Progress
//	notifications/cancelled             automatic: the context of the handler ends
//	notifications/message               Log
//	logging/setLevel                    automatic: Log respects the level
//	completion/complete                 CompleteArg, CompleteWith
//	tasks/get, tasks/cancel and so on   package mcpext/tasks
//	authorization                       Scopes, Server.RequireScopes, package mcpauth
//
// # Authentication and authorization
//
// A request over HTTP is anonymous unless a handler in front of [Server.HTTPHandler]
// authenticates it and puts an mcp.Identity into the context of the request, by
// mcp.WithIdentity. [Request.Identity] returns it. [Scopes] requires scopes for a feature,
// [Server.RequireScopes] for a method, and [Visible] hides a feature from principals. State
// of one principal, such as a session, does not exist for any other.
//
// # State of a session
//
// [Session.Value] keeps a value of a type of yours for a client of the session era, and
// [Session.Context] ends with its session. [Options.RequestFeatures] adds features that only one
// session sees, or only clients with certain capabilities. The stateless era has no sessions: state that
// its clients use again is in [Server.Store] or in a handle of mcpext/handles, in both
// eras alike.
//
// # Extensions
//
// [Server.Extend] adds an extension of the protocol. The packages under mcpext use it:
// tasks runs calls in the background while clients poll, apps adds user interfaces to
// tools, skills serves instructions for models.
//
// # Order and concurrency
//
// Handlers run concurrently: over stdio and other streams on their own goroutines, over
// stateless HTTP on the goroutine of the connection. The notifications of one session are
// handled one after the other, in the order in which they were received. The library holds
// no lock while a handler runs. A panic in a handler ends its own call and is logged.
// A panic in a goroutine that a handler has started ends the process, as in every Go
// program: recover it there.
//
// # Errors
//
// The text of a tool handler's error is sent to the model. An *mcp.Error, from any
// handler, is a protocol error. Other errors are private: the client gets an incident id,
// and the log has the error with this id.
package mcpserver
