package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// postAs sends one request of the stateless era over HTTP, for a user.
func postAs(t *testing.T, srv *mcpserver.Server, user, method, name, params string) (int, message) {
	t.Helper()
	params = withMeta(t, params, fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s`, mcp.V20260728, canAll))
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)))
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": mcp.V20260728.String(), "Mcp-Method": method, "Mcp-Name": name, "Authorization": user,
	} {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	mcptest.CheckHandler(t, byToken(srv.HTTPHandler())).ServeHTTP(w, r)
	m := message{Raw: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil {
		t.Fatalf("got %d %s: %v", w.Code, w.Body, err)
	}
	return w.Code, m
}

// mapStore is a Store that forgets nothing.
type mapStore struct {
	mu     sync.Mutex
	values map[string][]byte
}

func newMapStore() *mapStore { return &mapStore{values: make(map[string][]byte)} }

func (s *mapStore) Get(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[key]
	return bytes.Clone(v), ok, nil
}

func (s *mapStore) Put(_ context.Context, key string, value []byte, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = bytes.Clone(value)
	return nil
}

func (s *mapStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	if _, ok, _ := s.Get(ctx, key); ok {
		return false, nil
	}
	return true, s.Put(ctx, key, value, ttl)
}

func (s *mapStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	if v, ok, _ := s.Get(ctx, key); !ok || !bytes.Equal(v, old) {
		return false, nil
	}
	return true, s.Put(ctx, key, value, ttl)
}

func (s *mapStore) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, key)
	return nil
}

func (s *mapStore) List(context.Context, string, string, int) ([]string, error) {
	return nil, errors.New("not listed by the server")
}
