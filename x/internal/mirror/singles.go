package mirror

import (
	"encoding/json/jsontext"
	"runtime"
	"sync"
	"weak"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Singles registers single features of a kind of foreign server, F. The features that are
// registered in one server share a foreign server, so that their handlers share sessions, too.
// It is safe for concurrent use.
type Singles[F Foreign] struct {
	// New returns a foreign server without features.
	New func() F

	mu sync.Mutex
	// bridges are the bridges to the foreign servers. A server that is no longer used is not
	// kept, so a bridge here has no reference to its server. Guarded by mu.
	bridges map[weak.Pointer[mcpserver.Server]]*bridge
}

// Tool registers a tool by its definition, and adds it to the foreign server by add. If that
// panics in the server, as for a name that is taken, the panic is the error.
func (s *Singles[F]) Tool(server *mcpserver.Server, def jsontext.Value, add func(F), opts ...mcpserver.ToolOption) error {
	return s.register(server, add, func(f *features) error { return f.setTool(def, false, opts) })
}

// Prompt registers a prompt as Tool does a tool.
func (s *Singles[F]) Prompt(server *mcpserver.Server, def jsontext.Value, add func(F), opts ...mcpserver.PromptOption) error {
	return s.register(server, add, func(f *features) error { return f.setPrompt(def, false, opts) })
}

// Resource registers a resource as Tool does a tool.
func (s *Singles[F]) Resource(server *mcpserver.Server, def jsontext.Value, add func(F), opts ...mcpserver.ResourceOption) error {
	return s.register(server, add, func(f *features) error { return f.setResource(def, false, opts) })
}

// Template registers a resource template as Tool does a tool.
func (s *Singles[F]) Template(server *mcpserver.Server, def jsontext.Value, add func(F), opts ...mcpserver.ResourceOption) error {
	return s.register(server, add, func(f *features) error { return f.setTemplate(def, false, opts) })
}

func (s *Singles[F]) register(server *mcpserver.Server, add func(F), set func(*features) error) error {
	b := s.bridgeOf(server)
	if err := set(newFeatures(server, b)); err != nil {
		return err
	}
	add(b.foreign.(F))
	return nil
}

func (s *Singles[F]) bridgeOf(server *mcpserver.Server) *bridge {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := weak.Make(server)
	if b, ok := s.bridges[key]; ok {
		return b
	}
	b := newBridge(s.New(), Options{})
	if s.bridges == nil {
		s.bridges = make(map[weak.Pointer[mcpserver.Server]]*bridge)
	}
	s.bridges[key] = b
	runtime.AddCleanup(server, s.forget, key)
	return b
}

func (s *Singles[F]) forget(key weak.Pointer[mcpserver.Server]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.bridges, key)
}
