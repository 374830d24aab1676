// Package mcp holds the types of the Model Context Protocol as plain data.
// Servers are written with package mcpserver, clients with package mcpclient;
// both use the types of this package.
//
// # Revisions
//
// There are five revisions of the protocol and one set of types. The types have
// the shapes of the newest revision, [V20260728], and also the members and
// types that only an older one has. Servers and clients convert messages to and
// from the revision of their peer, so code that uses these types never depends
// on the revision. The first four revisions are called the session era: they
// open a session with [InitializeParams], in which both sides send requests.
//
// # Server features
//
//   - A [Tool] is called with [CallToolParams] and answers with a [CallToolResult].
//   - A [Resource], or a resource that matches a [ResourceTemplate], is read with
//     [ReadResourceParams] and yields a [ReadResourceResult].
//   - A [Prompt] is read with [GetPromptParams] and yields a [GetPromptResult].
//   - An argument is completed with [CompleteParams] into a [Completion].
//
// [ServerCapabilities] declare which of these a server has. Lists are
// paginated, see [ListParams]. Clients subscribe to changes with
// [ListenParams].
//
// # Elicitation, sampling and roots
//
// A request may end with an [InputRequiredResult], which holds requests to the
// client: [ElicitParams] for the user and, both deprecated,
// [CreateMessageParams] for its model and roots/list for its roots. The client
// sends the request again with its answers, [InputResponseParams].
// [ClientCapabilities] declare which of these the client supports.
//
// # Content
//
// What models and users read is [Content], in blocks: [Text], [Image], [Audio],
// [Link] and [Embed] construct one. A list of blocks is [Contents].
//
// # Rules of the data
//
// A field without omitzero or omitempty is required and always written; a nil
// list is written as an empty one. A pointer distinguishes an absent member
// from one with the zero value, where that makes a difference.
//
// Types that are passed on to others keep the members that this package does
// not know: a field Extra holds them as one JSON object, and they are written
// after the others. Extra must not repeat a member that the struct has. JSON
// that the protocol does not define (arguments, structured content, schemas,
// settings) is a [jsontext.Value] and is passed on unchanged, except for white
// space and for the escapes in strings.
//
// Member names are case-sensitive, and a member that occurs twice is an error,
// as everywhere in encoding/json/v2. Binary data is encoded as base64 with
// padding; other alphabets, white space and missing padding are errors.
//
// # Errors
//
// An [Error] is a JSON-RPC error that a peer has sent or will get. Its [Code]
// is symbolic; [CodeOf] finds it in any error.
//
// # Deprecated features
//
// Roots, Sampling and Logging are deprecated in the newest revision and work in
// all of them. Their identifiers are marked as deprecated, with the earliest
// date of removal.
package mcp
