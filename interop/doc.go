// Package interop tries Fondaco against other implementations of the Model
// Context Protocol: the TypeScript SDK of both generations as client and as
// server, and the reference server "everything". They run as real processes, on
// Node, and are pinned in package.json. Without Node every test is skipped.
package interop
