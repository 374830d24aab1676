package config

import (
	"maps"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
)

// An entry is one server as a file has it: in the format of any client, before variables
// are expanded.
type entry struct {
	name string // as written
	key  string // of the upstream
	at   value

	transport   transport
	command     field
	args        []field
	env         []pair
	envFile     field
	dir         field
	url         field
	headers     []pair
	disabled    bool
	unsupported bool // only the client that the file belongs to can run it
	signIn      signIn
	settings    host.Settings
	roots       []field       // directories for the server
	included    []string      // tools that another client enables
	startup     time.Duration // the limit of a start, of another client
	timeout     time.Duration // the limit of a call, of another client
	variables   []string      // names of environment variables to pass on if they are set
}

// A field is a text with its position. With variable set, the value of that environment
// variable is appended.
type field struct {
	text     string
	variable string
	at       value

	// What the program of the file expands in this field alone, see expansion.
	home, plain, percent bool
}

type pair struct {
	name string
	field
}

type transport string

const (
	transportStdio       transport = "stdio"
	transportHTTP        transport = "http"
	transportEventStream transport = "sse"
)

// transports maps the names that clients use for transports.
var transports = map[string]transport{
	"stdio": transportStdio, "local": transportStdio,
	"http": transportHTTP, "streamable-http": transportHTTP, "streamableHttp": transportHTTP,
	"streamable_http": transportHTTP, "streamableHTTP": transportHTTP, "remote": transportHTTP,
	"sse": transportEventStream,
}

// readers parse the members of an entry, by all the names that clients use for them.
var readers = map[string]func(s *source, e *entry, v value){
	"command":              (*source).readCommand,
	"args":                 func(s *source, e *entry, v value) { e.args = append(e.args, s.fields(v)...) },
	"env":                  (*source).readEnv,
	"environment":          (*source).readEnv,
	"env_vars":             (*source).readVariables,
	"envFile":              func(s *source, e *entry, v value) { s.stringOnce(&e.envFile, v) },
	"cwd":                  func(s *source, e *entry, v value) { s.stringOnce(&e.dir, v) },
	"workingDirectory":     func(s *source, e *entry, v value) { s.stringOnce(&e.dir, v) },
	"url":                  func(s *source, e *entry, v value) { s.stringOnce(&e.url, v) },
	"serverUrl":            func(s *source, e *entry, v value) { s.stringOnce(&e.url, v) },
	"httpUrl":              func(s *source, e *entry, v value) { s.stringOnce(&e.url, v) },
	"uri":                  func(s *source, e *entry, v value) { s.stringOnce(&e.url, v) },
	"headers":              (*source).readHeaders,
	"http_headers":         (*source).readHeaders,
	"env_http_headers":     (*source).readEnvHeaders,
	"bearer_token_env_var": (*source).readBearer,
	"type":                 (*source).readTransport,
	"transport":            (*source).readTransport,
	"transportType":        (*source).readTransport,
	"disabled":             func(s *source, e *entry, v value) { e.disabled = s.boolean(v) || e.disabled },
	"enabled":              func(s *source, e *entry, v value) { e.disabled = !s.boolean(v) || e.disabled },
	"auth":                 (*source).readSignIn,
	"oauth":                (*source).readSignIn,
	"scopes":               func(s *source, e *entry, v value) { e.signIn.scopes = append(e.signIn.scopes, s.scopes(v)...) },
	"source":               (*source).readOrigin,
	"includeTools":         (*source).readIncluded,
	"enabled_tools":        (*source).readIncluded,
	"excludeTools":         (*source).readExcluded,
	"disabledTools":        (*source).readExcluded,
	"disabled_tools":       (*source).readExcluded,
	"tools":                (*source).readTools,
	"startup_timeout_sec":  func(s *source, e *entry, v value) { e.startup = s.number(v, time.Second) },
	"startup_timeout_ms":   func(s *source, e *entry, v value) { e.startup = s.number(v, time.Millisecond) },
	"timeout":              (*source).readTimeout,
	"tool_timeout_sec":     func(s *source, e *entry, v value) { e.timeout = s.number(v, time.Second) },
	settingsMember:         (*source).readSettings,
}

// The reasons why members of other clients' entries have no effect.
const (
	noConsent = "has no effect: consent given in another program does not apply here"
	noSignIn  = "has no effect: the server's metadata is used"
)

// ignored are members without effect, with the warning for the user if there is one.
var ignored = map[string]string{
	"autoApprove": noConsent, "alwaysAllow": noConsent, "trust": noConsent, "default_tools_approval_mode": noConsent,
	"oauth_resource": noSignIn,
	"description":    "", "name": "", "title": "", "icon": "", "version": "", "gallery": "", "dev": "", "settings": "", "required": "",
}

// readEntry parses the members of one server.
func (s *source) readEntry(e *entry) {
	if !s.requireKind(e.at, kindObject) {
		return
	}
	s.each(e.at, func(m member, v value) {
		if read, ok := readers[m.name]; ok {
			read(s, e, v)
			return
		}
		why, ok := ignored[m.name]
		switch {
		case !ok:
			s.addWarning(e.at.named(m), "unknown, and has no effect%s", suggest(m.name, slices.Collect(maps.Keys(readers))))
		case why != "":
			s.addWarning(e.at.named(m), "%s", why)
		}
	})
	if len(e.settings.Rules.Allow) == 0 {
		e.settings.Rules.Allow = e.included
	}
	if e.settings.StartupTimeout == 0 {
		e.settings.StartupTimeout = e.startup
	}
	if len(e.settings.Timeouts) == 0 && e.timeout > 0 {
		e.settings.Timeouts = []host.CallTimeout{{Tools: "*", Timeout: e.timeout}}
	}
	s.validate(e)
}

// validate reports members that exclude each other.
func (s *source) validate(e *entry) {
	isProgram, isRemote := e.command.text != "", e.url.text != ""
	switch {
	case e.unsupported && !isProgram && !isRemote:
		return
	case isProgram && isRemote:
		s.addError(e.at, "found both a command and a url, want one of them")
	case isProgram:
		s.judgeProgram(e)
	case isRemote:
		s.judgeRemote(e)
	case e.command.at.node == nil && e.url.at.node == nil:
		s.addError(e.at, "found neither command nor url, want one of them")
	}
}

func (s *source) judgeProgram(e *entry) {
	if e.transport != "" && e.transport != transportStdio {
		s.addError(e.at, `found the type of a url beside a command, want "stdio" or none`)
	}
	if len(e.headers) > 0 {
		s.addError(e.headers[0].at, "found a header beside a command, want headers beside a url only")
	}
	if e.signIn.at.node != nil {
		s.addError(e.signIn.at, "found a sign-in beside a command, want it beside a url only: a program gets its credentials from its environment")
	}
}

func (s *source) judgeRemote(e *entry) {
	if e.transport == transportStdio {
		s.addError(e.at, `found the type of a command beside a url, want "http", "sse" or none`)
	}
	for _, f := range append([]field{e.dir, e.envFile}, e.args...) {
		if f.at.node != nil {
			s.addError(f.at, "found a member for a command beside a url, want it beside a command only")
		}
	}
	s.checkHeaders(e.headers)
	s.validateSignIn(&e.signIn)
	if len(e.env) > 0 {
		s.addWarning(e.env[0].at, "has no effect: a url has no environment")
	}
}

// string parses a string.
func (s *source) string(v value) field {
	if !s.requireKind(v, kindString) {
		return field{at: v}
	}
	return field{text: v.text, at: v}
}

// stringOnce parses a string that may have two names, which must have the same value.
func (s *source) stringOnce(f *field, v value) {
	before := *f
	if *f = s.string(v); before.at.node != nil && before.text != f.text {
		s.addError(v, "found a value that differs from %s, want one of the two", before.at.pointer.LastToken())
	}
}

func (s *source) fields(v value) (fields []field) {
	if !s.requireKind(v, kindArray) {
		return nil
	}
	for i := range v.elements {
		fields = append(fields, s.string(v.at(i)))
	}
	return fields
}

// texts parses an array of strings without positions.
func (s *source) texts(v value) (texts []string) {
	for _, f := range s.fields(v) {
		texts = append(texts, f.text)
	}
	return texts
}

func (s *source) boolean(v value) bool {
	return s.requireKind(v, kindBoolean) && v.text == "true"
}

// pairs parses an object of strings.
func (s *source) pairs(v value) (pairs []pair) {
	if !s.requireKind(v, kindObject) {
		return nil
	}
	s.each(v, func(m member, v value) { pairs = append(pairs, pair{m.name, s.string(v)}) })
	return pairs
}

// readCommand parses a command: the name of a program, an array with its arguments as in
// opencode, or an object as in older versions of Zed.
func (s *source) readCommand(e *entry, v value) {
	switch v.kind {
	case kindString:
		e.command = field{text: v.text, at: v}
		if v.text == "" {
			s.addError(v, "found an empty command, want the name of a program")
		}
	case kindArray:
		texts := s.fields(v)
		if e.command.at = v; len(texts) == 0 {
			s.addError(v, "found an empty array, want a program and its arguments")
			return
		}
		e.command, e.args = texts[0], append(texts[1:], e.args...)
	case kindObject:
		e.command.at = v
		s.each(v, func(m member, v value) {
			switch m.name {
			case "path":
				s.readCommand(e, v)
			case "args":
				e.args = append(e.args, s.fields(v)...)
			case "env":
				s.readEnv(e, v)
			default:
				s.addWarning(v, "unknown, and has no effect%s", suggest(m.name, []string{"path", "args", "env"}))
			}
		})
	default:
		e.command.at = v
		s.addError(v, "found %s, want a string, or an array of strings", v.kind)
	}
}

// readEnv parses environment variables of a program. Numbers and booleans are used as
// written; null means not set.
func (s *source) readEnv(e *entry, v value) {
	if !s.requireKind(v, kindObject) {
		return
	}
	s.each(v, func(m member, v value) {
		switch v.kind {
		case kindString, kindNumber, kindBoolean:
			e.env = append(e.env, pair{m.name, field{text: v.text, at: v}})
		case kindNull:
		default:
			s.addError(v, "found %s, want a string", v.kind)
		}
	})
}

// readVariables parses names of variables that Codex passes on.
func (s *source) readVariables(e *entry, v value) {
	if !s.requireKind(v, kindArray) {
		return
	}
	for i, element := range v.elements {
		at := v.at(i)
		if name := element.member("name"); name != nil {
			at = value{name, at.pointer.AppendToken("name")}
		}
		name := s.string(at).text
		if isHostSecret(name) {
			s.addError(at, hostSecretError, name)
			continue
		}
		e.variables = append(e.variables, name)
	}
}

func (s *source) readHeaders(e *entry, v value) { e.headers = append(e.headers, s.pairs(v)...) }

// readEnvHeaders parses headers whose values are in environment variables.
func (s *source) readEnvHeaders(e *entry, v value) {
	for _, p := range s.pairs(v) {
		e.headers = append(e.headers, pair{p.name, field{variable: p.text, at: p.at}})
	}
}

func (s *source) readBearer(e *entry, v value) {
	if f := s.string(v); f.text != "" {
		e.headers = append(e.headers, pair{"Authorization", field{text: "Bearer ", variable: f.text, at: v}})
	}
}

func (s *source) readTransport(e *entry, v value) {
	f := s.string(v)
	if v.kind != kindString {
		return
	}
	t, ok := transports[f.text]
	if !ok {
		known := []transport{transportStdio, transportHTTP, transportEventStream}
		s.addError(v, "found %q, want %s%s", f.text, oneOf(known), suggest(f.text, slices.Collect(maps.Keys(transports))))
	}
	e.transport = t
}

// readTimeout parses the limit of a call, which clients write as a number of seconds or of milliseconds.
// What is less than a second was meant in another unit.
func (s *source) readTimeout(e *entry, v value) {
	switch client := s.client; {
	case client != nil && client.ID == "opencode":
		s.addWarning(v, "has no effect: opencode limits the reading of lists with it, and no calls")
	case client == nil || client.timeout == 0:
		s.addWarning(v, `has no effect: clients write it in seconds or in milliseconds; want "timeout": "90s" in the member %q`, settingsMember)
	default:
		timeout := s.number(v, client.timeout)
		if timeout > 0 && timeout < time.Second {
			s.addWarning(v, "has no effect: found %s, want at least a second, in the unit of %s", v.text, client.Name)
			return
		}
		e.timeout = timeout
	}
}

// readOrigin parses the "source" of a server in Zed.
func (s *source) readOrigin(e *entry, v value) {
	if e.unsupported = s.string(v).text == "extension"; e.unsupported {
		s.addWarning(e.at, "left out: an extension of Zed runs it, which only Zed can do")
	}
}

func (s *source) readIncluded(e *entry, v value) {
	e.included = append(e.included, s.texts(v)...)
}

func (s *source) readExcluded(e *entry, v value) {
	e.settings.Rules.Deny = append(e.settings.Rules.Deny, s.texts(v)...)
}

// readTools parses the tools that Copilot enables. Codex has consent under the same name.
func (s *source) readTools(e *entry, v value) {
	if v.kind == kindObject {
		s.addWarning(v, noConsent)
		return
	}
	s.readIncluded(e, v)
}

// remote reports whether the entry is a server at a URL.
func (e *entry) remote() bool { return e.url.text != "" }
