// Package interop tries Fondaco against other implementations of the Model
// Context Protocol: the TypeScript SDK of both generations as client and as
// server, the reference server "everything", older and Go SDKs (see versions), programs
// between client and server (see wrappers_test.go), and an authorization server. They run as
// real processes, most of them on Node, and are pinned in package.json and peers.
// Without Node every test is skipped.
//
// A plan is a list of steps, one use of a feature each, with what has to come of
// it. Our client and the foreign ones take the same steps: with our server, with
// foreign ones, and with all of them behind fondaco. What a pairing lacks is
// stated, with the reason, and has to be lacking.
//
// issuer.mjs is an authorization server that others have written, oidc-provider,
// over https on loopback with a certificate authority of the test's own. A browser
// that is a few lines of Go fills in its forms.
package interop
