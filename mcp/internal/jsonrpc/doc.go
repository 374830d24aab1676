// Package jsonrpc reads and writes the JSON-RPC 2.0 envelope of MCP messages.
//
// It is deliberately strict, because a message is often read by two parsers: a
// gateway that applies a policy and a server that acts. Whatever they read
// differently is a way around the policy. Hence one rule for every message:
// either all parsers agree on it, or it is refused. In particular
//
//   - member names are compared exactly and after decoding their escapes: Method
//     and "method\u0000" are unknown members, not the method;
//   - a name that occurs twice in one object is refused at any depth, wherever
//     in the message it stands;
//   - invalid UTF-8, lone surrogates, byte order marks, other encodings and
//     anything after the message are refused;
//   - numbers that other parsers round to infinity or choke on are refused, and
//     an id is kept as it was written, so that it is echoed byte for byte;
//   - depth and number of values are counted while the text is read, before
//     anything is built from it.
//
// Unknown members of the envelope are ignored, as JSON-RPC allows extensions.
// Params, results and error data are not interpreted here, only scanned.
//
// A text that breaks the rules of JSON is answered with [CodeParse], a message
// that breaks the rules of JSON-RPC or a limit with [CodeInvalidRequest]. The
// first is found first: the envelope is checked only when the whole text is good.
//
// Spec: 2026-07-28 basic#messages; JSON-RPC 2.0; RFC 7493 (I-JSON)
package jsonrpc
