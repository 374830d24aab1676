package signin

import "github.com/fondaco/fondaco/mcp/mcpauth"

// Store is what the wallet keeps tokens in.
func Store(w *Wallet) mcpauth.Store { return w.tokens }
