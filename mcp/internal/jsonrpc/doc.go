// Package jsonrpc reads and writes the JSON-RPC 2.0 envelope of MCP messages.
//
// It is deliberately strict, because a message is often read by two parsers: that of a gateway
// that applies a policy, and that of the server. A difference between what they read is a way
// around the policy. So a message that parsers may read differently is refused, or repaired
// before anybody sees it: a [Message] aliases the repaired text only. In particular
//
//   - member names are compared exactly and after decoding their escapes: Method
//     and "method\u0000" are unknown members, not the method;
//   - a name that occurs twice in one object of a request is refused at any depth; in a result,
//     which no policy is applied to, the last member stays;
//   - invalid UTF-8 and lone surrogates become U+FFFD in the values of strings; in names and in
//     the strings that identify something they are refused;
//   - byte order marks, other encodings and anything after the message are refused;
//   - numbers that other parsers round to infinity or refuse are refused, and an id is kept
//     as it was written, so that it is echoed byte for byte;
//   - depth and number of values are counted while the text is read, before memory is
//     allocated for them.
//
// Unknown members of the envelope are ignored, as JSON-RPC allows extensions.
// Params, results and error data are not interpreted here, only scanned.
//
// A text that is not valid JSON is answered with [CodeParse], a message that violates the rules
// of JSON-RPC or exceeds a limit with [CodeInvalidRequest]. The envelope is checked only after
// the whole text was found to be valid JSON. Each refusal names the message by its kind and id
// where these can be recognized in spite of the error, so that it ends the call that it
// belongs to, at once, on either side.
//
// A text that is strict JSON, as nearly all are, is read once by package rawjson. Only another
// one is read again: by repair.go, and if it is refused, by outline.go.
//
// Spec: 2026-07-28 basic#messages; JSON-RPC 2.0; RFC 7493 (I-JSON)
package jsonrpc
