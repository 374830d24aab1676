// Package mcpwire writes the messages of servers and clients to a log, one line per message, without
// secrets:
//
//	srv := mcpserver.New("hello", "1.0.0", &mcpserver.Options{OnMessage: mcpwire.NewLog(os.Stderr, nil).Record})
//
// A line has the time, the number of the connection, the direction, and the message. An arrow to the
// right marks what this process writes, one to the left what it reads:
//
//	12:04:05.120 1 ← tools/call id=7 {"name":"add","arguments":{"a":1,"b":2}}
//	12:04:05.121 1 → tools/call id=7 result {"content":[{"type":"text","text":"3"}]} 0.8ms
//
// Over Streamable HTTP each HTTP request has a number, which its response shares:
//
//	12:04:05.120 4 ← POST /mcp Mcp-Protocol-Version: 2025-11-25 tools/call id=7 {"name":"add"}
//	12:04:05.121 4 → 200 tools/call id=7 result {"content":[]} 0.8ms
//
// # What is left out
//
// Values of members and headers whose names are those of secrets, such as "password" or
// "Authorization", are replaced by "[redacted]", and so are the state of requests, most of the ids
// of sessions, and the answers to the fields of forms for which mcpclient refuses the form, because they
// ask for a secret. A secret in a text that a person or a model reads is not found. Long texts and long messages
// are shortened; the size in bytes is at the end of such a line. Of what is no message only the size is
// shown, or the first 64 bytes of a text without JSON. Characters that could
// change what a terminal shows are written as escapes.
package mcpwire
