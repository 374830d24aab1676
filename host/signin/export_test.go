package signin

import "github.com/fondaco/fondaco/mcp/mcpauth"

// Store is the mcpauth.Store of a TokenStore.
func Store(w *TokenStore) mcpauth.Store { return w.tokens }
