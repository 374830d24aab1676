// Package mcp is the vocabulary of the Model Context Protocol: the things that
// servers and clients talk about, as plain data. Servers are written with
// package mcpserver, clients with package mcpclient; both speak in the types of
// this one.
//
// # Revisions
//
// There are five revisions of the protocol and one vocabulary. Its types have
// the shapes of the newest revision, [V20260728], and besides these the members
// and types that only an older one has. What a peer of an older revision cannot
// read is left out or written in its way when a message is sent, and added when
// one is received, so that code above never asks which revision is spoken. The
// first four revisions are called the session era: they open a session with
// [InitializeParams], in which both sides send requests.
//
// # What a server offers
//
//   - A [Tool] is called with [CallToolParams] and answers with a [CallToolResult].
//   - A [Resource], or one of the family of a [ResourceTemplate], is read with
//     [ReadResourceParams] and yields a [ReadResourceResult].
//   - A [Prompt] is got with [GetPromptParams] as a [GetPromptResult].
//   - An argument is completed with [CompleteParams] into a [Completion].
//
// [ServerCapabilities] say which of these there are. Lists come in pages, by
// [ListParams]. Changes are told to those who ask by [ListenParams].
//
// # What a server asks
//
// A request may end with an [InputRequiredResult], which holds questions to the
// client: [ElicitParams] for the user and, both deprecated, [CreateMessageParams]
// for its model and roots/list for its roots. The client sends the request again
// with its answers, [InputResponseParams]. [ClientCapabilities] say what may be
// asked.
//
// # Content
//
// What models and people get to read is [Content], in blocks: [Text], [Image],
// [Audio], [Link] and [Embed] make one. A list of blocks is [Contents].
//
// # Rules of the data
//
// A field without omitzero or omitempty is required and always written; a nil
// list is written as an empty one. A pointer tells an absent member from one
// with the zero value, where that makes a difference.
//
// Members that this package does not know are kept where the protocol passes
// things on: a field Extra holds them as one JSON object, and they are written
// after the others. Extra must not repeat a member that the struct has. JSON
// that belongs to others (arguments, structured content, schemas, settings) is
// a [jsontext.Value] and is passed on as it came, except for white space and for
// the escapes in strings.
//
// Names are exact, and a member that occurs twice is an error, as everywhere in
// encoding/json/v2. Binary data travels as base64 with padding; other alphabets,
// white space and missing padding are errors.
//
// # Errors
//
// An [Error] is the answer of a peer, or an answer to one. Its [Code] is
// symbolic; [CodeOf] finds it in any error.
//
// # Deprecated features
//
// Roots, Sampling and Logging are deprecated in the newest revision and work in
// all of them. Their identifiers say so, with the earliest date of removal.
package mcp
