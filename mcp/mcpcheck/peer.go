package mcpcheck

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// answer is what a server answers to one message.
type answer struct {
	status int            // of HTTP; 0 over other transports
	raw    jsontext.Value // the response, nil for none
	ID     jsontext.Value `json:"id"`
	Result jsontext.Value `json:"result"`
	Error  *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data"`
	} `json:"error"`
	Method string `json:"method"`
}

func (a *answer) String() string {
	switch {
	case a.raw != nil:
		return excerpt(string(a.raw))
	case a.status != 0:
		return fmt.Sprintf("HTTP %d", a.status)
	}
	return "nothing"
}

// maxAnswer limits one answer, in bytes.
const maxAnswer = 16 << 20

func readAnswer(raw []byte) answer {
	a := answer{raw: raw}
	_ = json.Unmarshal(raw, &a, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // what it cannot be read as is empty
	return a
}

// peer sends raw messages to a server.
type peer interface {
	// send sends a message and returns the answers: up to the response with the id, if there is one to wait for.
	// An empty id waits for nothing; over HTTP the answer to the request is returned all the same.
	send(ctx context.Context, message, id string, h http.Header) ([]answer, error)
	close()
}

// connPeer is a peer over a connection of messages.
type connPeer struct{ conn mcp.Conn }

func (p *connPeer) close() { _ = p.conn.Close() }

func (p *connPeer) send(ctx context.Context, message, id string, _ http.Header) (all []answer, err error) {
	if err := p.conn.Write(ctx, []byte(message)); err != nil {
		return nil, err
	}
	for id != "" {
		raw, err := p.conn.Read(ctx)
		if err != nil {
			return all, err
		}
		a := readAnswer(raw)
		if a.Method != "" {
			if a.ID != nil { // the server asks; nothing was declared that it may ask for
				refusal := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, a.ID)
				_ = p.conn.Write(ctx, []byte(refusal))
			}
			continue
		}
		all = append(all, a)
		if string(a.ID) == id {
			break
		}
	}
	return all, nil
}

// httpPeer is a peer over Streamable HTTP.
type httpPeer struct {
	url     string
	client  *http.Client
	header  http.Header // of each request
	session string
}

func (p *httpPeer) close() {
	if p.session == "" {
		return
	}
	req, err := http.NewRequest(http.MethodDelete, p.url, nil)
	if err != nil {
		return
	}
	req.Header = p.headers(nil)
	if resp, err := p.client.Do(req); err == nil {
		_ = resp.Body.Close()
	}
}

// headers returns the headers of a request; those of h replace others, and an empty value removes one.
func (p *httpPeer) headers(h http.Header) http.Header {
	all := p.header.Clone()
	all.Set(httpheader.ContentType, httpheader.TypeJSON)
	all.Set(httpheader.Accept, httpheader.TypeJSON+", "+httpheader.TypeEventStream)
	if p.session != "" {
		all.Set(httpheader.SessionID, p.session)
	}
	for name, values := range h {
		if all[name] = values; values[0] == "" {
			delete(all, name)
		}
	}
	return all
}

func (p *httpPeer) send(ctx context.Context, message, id string, h http.Header) (all []answer, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader([]byte(message)))
	if err != nil {
		return nil, err
	}
	req.Header = p.headers(h)
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if s := resp.Header.Get(httpheader.SessionID); s != "" && p.session == "" {
		p.session = s
	}
	if kind := resp.Header.Get(httpheader.ContentType); len(kind) < len(httpheader.TypeEventStream) || kind[:len(httpheader.TypeEventStream)] != httpheader.TypeEventStream {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		a := answer{status: resp.StatusCode}
		if jsontext.Value(body).Kind() == jsontext.KindBeginObject || jsontext.Value(body).Kind() == jsontext.KindBeginArray {
			a = readAnswer(body)
			a.status = resp.StatusCode
		}
		return []answer{a}, err
	}
	events := sse.NewReader(resp.Body, maxAnswer)
	for {
		event, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		case len(event.Data) == 0:
			continue
		}
		a := readAnswer(bytes.Clone(event.Data))
		a.status = resp.StatusCode
		if a.Method != "" {
			continue
		}
		all = append(all, a)
		if id == "" || string(a.ID) == id {
			return all, nil
		}
	}
}
