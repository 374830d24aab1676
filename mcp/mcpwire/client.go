package mcpwire

import "encoding/json/jsontext"

// clients are the names of the clients of sessions, which say theirs once, in initialize.
type clients map[clientKey]string

// clientKey is a connection or, over Streamable HTTP, a request or a session.
type clientKey struct {
	log     string
	conn    uint64
	session string
}

// maxClients limits the sessions whose client is remembered. When there are more, all are forgotten.
const maxClients = 4096

// name adds the name of the client to a message that was read: that in the message or that of its session.
func (c *clients) name(l *Line) {
	at := clientKey{l.Name, l.Conn, ""}
	if l.HTTP != nil && l.session != "" {
		at = clientKey{log: l.Name, session: l.session}
	}
	if l.Client == "" {
		l.Client = (*c)[at]
	} else if l.Method == "initialize" {
		c.keep(at, l.Client)
	}
}

// open notes that the response to initialize has the id of its session.
func (c *clients) open(l *Line) {
	if name := (*c)[clientKey{l.Name, l.Conn, ""}]; name != "" && l.HTTP != nil && l.session != "" {
		c.keep(clientKey{log: l.Name, session: l.session}, name)
		delete(*c, clientKey{l.Name, l.Conn, ""})
	}
}

func (c *clients) keep(at clientKey, name string) {
	if *c == nil || len(*c) >= maxClients {
		*c = make(clients)
	}
	(*c)[at] = name
}

// implementation is what a client says about itself.
type implementation struct {
	Name string `json:"name"`
}

// clientIn returns the name of the client in the params of a request, or "".
func clientIn(params jsontext.Value) string {
	var p struct {
		ClientInfo implementation `json:"clientInfo"`
		Meta       struct {
			ClientInfo implementation `json:"io.modelcontextprotocol/clientInfo"`
		} `json:"_meta"`
	}
	if len(params) == 0 || unmarshal(params, &p) != nil {
		return ""
	}
	if p.Meta.ClientInfo.Name != "" {
		return clip(p.Meta.ClientInfo.Name)
	}
	return clip(p.ClientInfo.Name)
}
