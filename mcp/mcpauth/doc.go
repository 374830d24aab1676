// Package mcpauth implements the authorization of MCP on OAuth 2.1: it protects
// MCP servers, and signs clients in to protected servers. It is for HTTP;
// servers on standard streams get credentials from their environment.
//
// # Protecting a server
//
// A [Resource] is a protected resource of OAuth. Its parameters are the
// identifier of the server, which is the audience of the tokens that it
// accepts, and their issuers:
//
//	auth := mcpauth.New("https://mcp.example.com/mcp", mcpauth.Issuer("https://id.example.com"))
//	mux.Handle("/mcp", auth.Protect(srv.HTTPHandler()))
//	mux.Handle("/.well-known/oauth-protected-resource", auth.Metadata())
//	mux.Handle("/.well-known/oauth-protected-resource/", auth.Metadata())
//
// Tokens are JWTs of an [Issuer], are verified by introspection ([Introspect]),
// or by a function of the author ([VerifyWith]). In each case the audience is
// checked, and every error refuses the request. The context of the request
// carries an mcp.Identity, from which mcpserver reads the principal and the
// scopes; [TokenFrom] returns the claims. The handler never gets the token
// itself, so it cannot forward it.
//
// Proof of possession (DPoP) is checked wherever a token is bound to a key, and
// can be required with [RequireProof]. Replicas of a server need [ProofStore] to accept
// each proof once together.
//
// # Connecting to a protected server
//
// A [Client] signs the user in when a server requires it, and stores the
// tokens:
//
//	auth := mcpauth.NewClient(nil)
//	c, err := mcpclient.Connect(ctx, mcpclient.URL("https://mcp.example.com/mcp"),
//		&mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: auth}})
//
// It discovers the authorization server, registers there, opens the system's
// browser and waits on loopback for the redirect. A [Grant] in its options gets
// tokens without a user. With a [FileStore] the next run needs no sign-in,
// and with a [SharedStore] neither does a process on another machine.
//
// Spec: 2026-07-28 basic/authorization
package mcpauth
