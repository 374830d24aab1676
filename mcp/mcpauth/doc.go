// Package mcpauth protects MCP servers, and connects to protected ones, as the
// authorization of MCP specifies it on OAuth 2.1. It is for HTTP; servers on
// standard streams take credentials from their environment.
//
// # Protecting a server
//
// A [Resource] is a server as authorization servers know it. It starts from the
// identifier of the server, which is the audience of the tokens that it takes,
// and from who issues them:
//
//	auth := mcpauth.New("https://mcp.example.com/mcp", mcpauth.Issuer("https://id.example.com"))
//	mux.Handle("/mcp", auth.Protect(srv.HTTPHandler()))
//	mux.Handle("/.well-known/oauth-protected-resource", auth.Metadata())
//	mux.Handle("/.well-known/oauth-protected-resource/", auth.Metadata())
//
// Tokens are JWTs of an [Issuer], are looked up by its introspection
// ([Introspect]), or are judged by the author's own verifier ([VerifyWith]). In
// each case the audience is checked, and no error lets a request pass. What was
// found out is the mcp.Identity in the context of the request, from which
// mcpserver takes the principal and the scopes; [TokenFrom] gives the claims.
// The handler never sees the token itself, so that it cannot pass it on.
//
// Proof of possession (DPoP) is checked wherever a token is bound to a key, and
// can be required with [RequireProof].
//
// # Connecting to a protected server
//
// A [Client] signs the user in where a server asks for it, and keeps the tokens:
//
//	auth := mcpauth.NewClient(nil)
//	c, err := mcpclient.Connect(ctx, mcpclient.URL("https://mcp.example.com/mcp"),
//		&mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: auth}})
//
// It finds the authorization server, registers there, opens the system's browser
// and waits on loopback for it to come back. A [Grant] in its options gets tokens
// without a user. With a [FileStore] the next run needs no sign-in.
//
// Spec: 2026-07-28 basic/authorization
package mcpauth
