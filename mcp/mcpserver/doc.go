// Package mcpserver writes MCP servers: programs that offer tools, resources and
// prompts to AI applications.
//
//	srv := mcpserver.New("airline", "1.0.0", nil)
//	srv.Tool("status", "Status of a flight", status, mcpserver.ReadOnly())
//	mcpserver.Main(srv)
//
// Handlers are ordinary functions of a context and a struct. Their schemas are
// inferred, arguments are validated before they run and results after, and what
// a call knows (who asks, progress, cancellation, the logger that reaches the
// client) hangs on the context. One Server speaks every revision of the protocol
// at once, over every transport: Run is stdio, HTTPHandler is Streamable HTTP,
// EventStreamHandler is HTTP+SSE, and Serve takes any mcp.Conn.
//
// # Arguments
//
// The fields of a struct are the arguments, under the names of their json tags.
// A field with omitzero, with a default, or that is a pointer may be missing;
// every other is required. A null stands for a missing argument. More is said by
// one struct tag per keyword of JSON Schema:
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
// time.Time and []byte (Base64) have a schema by themselves; a type with JSON
// methods of its own says it by a method JSONSchema() jsontext.Value. What makes
// no sense panics at registration and says what to write. Results are described
// in the same way.
//
// # In mid-call
//
// [Ask] elicits an answer of the user: the client shows a form (elicitation/create).
// [AskAll] asks several questions in one round: [ElicitForm] and [ElicitURL] elicit,
// [SampleQuestion] asks the client's model (sampling/createMessage), [ListRoots] gets
// the client's roots (roots/list). They work in every revision that has such
// requests; a handler that asks may be run again from the top, see [Ask]. [Progress]
// tells how far a call is. A client that cancels a call ends the handler's context.
// [Server.Updated] announces a change of a resource to its subscribers
// (resources/subscribe). The list_changed notifications need no call: adding,
// replacing, enabling and removing features sends them. Ping is answered by itself.
//
// # Who calls
//
// A request over HTTP is anonymous unless a handler in front of [Server.HTTPHandler]
// authenticates it and puts an mcp.Identity into the context of the request, by
// mcp.WithIdentity. [Scopes] says what callers of a feature have to be granted,
// [Server.RequireScopes] those of a method, [Visible] who may know of a feature at
// all. [Request.Identity] tells handlers who calls. What is kept for one principal is
// for every other the same as what does not exist.
//
// # State of a session
//
// [Session.Value] keeps a value of a type of yours for a client of the session era, and
// [Session.Context] ends with its session. The stateless era has no sessions: state that
// its clients use again is in [Server.Store] or in a handle of mcpext/handles, in both
// eras alike.
//
// # Extensions
//
// [Server.Extend] adds what the core of the protocol does not have. The packages
// under mcpext are written on it: tasks lets calls go on while their clients poll,
// apps gives tools an interface, skills serves instructions for models.
//
// # Order and concurrency
//
// Handlers run side by side, over stdio and other streams on a goroutine of
// their own, over stateless HTTP on that of the connection. Notifications of one
// connection are taken in the order of arrival. None of the library's locks is
// held while a handler runs. A panic in a handler ends its own call and is
// logged.
//
// # Errors
//
// An error of a tool handler is text that the model reads. An *mcp.Error, from
// any handler, is a protocol error. Errors of other handlers are private: the
// client gets an id, under which the log has the error.
package mcpserver
