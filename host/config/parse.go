package config

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// parser turns the content of a file into a Config, and collects every fault
// on the way.
type parser struct {
	config  *Config
	content []byte
	dir     string // that the file is in, as an absolute path
	env     Env
	faults  []error
}

// The members that hold the servers: that of most clients, and that of VS Code.
const (
	memberServers = "mcpServers"
	memberVSCode  = "servers"
)

func (p *parser) parse() (*Config, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(p.content))
	found := false
	err := eachMember(dec, func(name string) error {
		switch name {
		case memberServers, memberVSCode:
			found = true
			return p.servers(dec, jsontext.Pointer("").AppendToken(name))
		case "$schema":
		default:
			p.note("member %q is unknown and has no effect", name)
		}
		return dec.SkipValue()
	})
	if err == nil {
		err = atEnd(dec)
	}
	switch {
	case err != nil:
		p.syntaxFault(dec, err)
	case !found:
		p.fault(0, "", `found no "mcpServers", want {"mcpServers": {"NAME": {"command": …} or {"url": …}}}`)
	}
	if len(p.faults) > 0 {
		return nil, errors.Join(p.faults...)
	}
	return p.config, nil
}

// eachMember calls f for every member of the object that comes next, with the
// decoder at the value of the member, which f takes.
func eachMember(dec *jsontext.Decoder, f func(name string) error) error {
	open, err := dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("found nothing, want an object")
	case err != nil:
		return err
	case open.Kind() != jsontext.KindBeginObject:
		return fmt.Errorf("found %s, want an object", article(kindName(open.Kind())))
	}
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if err := f(name.String()); err != nil {
			return err
		}
	}
	_, err = dec.ReadToken()
	return err
}

func atEnd(dec *jsontext.Decoder) error {
	switch _, err := dec.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return errors.New("found more after the end of the object")
}

// servers reads the object of all servers. Only errors of syntax end it.
func (p *parser) servers(dec *jsontext.Decoder, at jsontext.Pointer) error {
	return eachMember(dec, func(key string) error {
		nameEnd := dec.InputOffset()
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		start := dec.InputOffset() - int64(len(raw))
		if err := host.CheckKey(key); err != nil {
			p.fault(nameEnd-1, at.AppendToken(key), "%v", err)
			return nil
		}
		p.server(key, raw, start, at.AppendToken(key))
		return nil
	})
}

// entry is one server as the file has it.
type entry struct {
	Type    string            `json:"type,omitzero"`
	Command string            `json:"command,omitzero"`
	Args    []string          `json:"args,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
	Cwd     string            `json:"cwd,omitzero"`
	URL     string            `json:"url,omitzero"`
	Headers map[string]string `json:"headers,omitzero"`
	// Disabled is set by clients for servers that their user has switched off.
	Disabled bool           `json:"disabled,omitzero"`
	Fondaco  jsontext.Value `json:"fondaco,omitzero"`
	Unknown  jsontext.Value `json:",embed"`
}

// server reads one server, whose value starts at an offset.
func (p *parser) server(key string, raw jsontext.Value, offset int64, at jsontext.Pointer) {
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		p.valueFault(offset, at, err)
		return
	}
	p.unknown(key, e.Unknown)
	if e.Disabled {
		p.note("server %q is disabled", key)
		return
	}
	before := len(p.faults)
	p.expand(&e, offset, at)
	u := host.Upstream{Key: key, Settings: p.settings(e.Fondaco, offset, at.AppendToken("fondaco"))}
	switch {
	case e.Command != "" && e.URL != "":
		p.fault(offset, at, "found both command and url, want one of them")
	case e.Command != "":
		p.command(&u, &e, offset, at)
	case e.URL != "":
		p.endpoint(&u, &e, offset, at)
	default:
		p.fault(offset, at, `found neither command nor url, want one of them`)
	}
	if len(p.faults) == before {
		p.config.Upstreams = append(p.config.Upstreams, u)
	}
}

// command makes an upstream of a program. Its working directory is relative to
// that of the file.
func (p *parser) command(u *host.Upstream, e *entry, offset int64, at jsontext.Pointer) {
	if e.Type != "" && e.Type != "stdio" {
		p.fault(offset, at.AppendToken("type"), `found %q beside a command, want "stdio" or none`, e.Type)
	}
	if len(e.Headers) > 0 {
		p.fault(offset, at.AppendToken("headers"), "found headers beside a command, want them beside a url only")
	}
	t := mcpclient.Command(e.Command, e.Args...)
	t.Env = e.Env
	if t.Dir = e.Cwd; e.Cwd != "" && !filepath.IsAbs(e.Cwd) {
		t.Dir = filepath.Join(p.dir, e.Cwd)
	}
	u.Target, u.Reached = t, "over stdio"
}

// endpoint makes an upstream of a URL.
func (p *parser) endpoint(u *host.Upstream, e *entry, offset int64, at jsontext.Pointer) {
	if parsed, err := url.Parse(e.URL); err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		p.fault(offset, at.AppendToken("url"), "want an http or https URL such as https://example.com/mcp")
	}
	if len(e.Args) > 0 || len(e.Env) > 0 || e.Cwd != "" {
		p.fault(offset, at, "found args, env or cwd beside a url, want them beside a command only")
	}
	switch e.Type {
	case "", "http", "streamable-http", "streamableHttp":
		u.Target, u.Reached = mcpclient.URL(e.URL), "over HTTP"
	case "sse":
		u.Target, u.Reached = mcpclient.EventStream(e.URL), "over HTTP+SSE"
	default:
		p.fault(offset, at.AppendToken("type"), `found %q beside a url, want "http", "sse" or none`, e.Type)
	}
	u.Header = make(http.Header)
	for name, value := range e.Headers {
		u.Header.Set(name, value)
	}
}

// unknown notes the members of a server that have no effect.
func (p *parser) unknown(key string, members jsontext.Value) {
	if len(members) == 0 {
		return
	}
	dec := jsontext.NewDecoder(bytes.NewReader(members))
	_ = eachMember(dec, func(name string) error {
		p.note("server %q: member %q is unknown and has no effect", key, name)
		return dec.SkipValue()
	})
}

func (p *parser) note(format string, args ...any) {
	p.config.Notes = append(p.config.Notes, fmt.Sprintf(format, args...))
}
