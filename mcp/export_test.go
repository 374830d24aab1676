package mcp

// LaterRevision is a revision that no package knows, as if it were published later.
var LaterRevision = Revision{"2099-12-31"}
