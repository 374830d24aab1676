package policy

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
)

// Policy is the managed policy. A nil Policy allows everything.
type Policy struct {
	// Path is the path of the file.
	Path string
	// Problems are the entries that cannot be used, and why.
	Problems []string

	allow, deny []entry    // allow is nil if every server is allowed that is not denied
	restricted  bool       // there is a list of allowed servers, be it empty
	trust       host.Trust // the least strict trust that is allowed; empty for any
	noDev       bool
	audit       *host.AuditSettings
	flags       []string
}

// entry is one entry of a list of servers. All of its members have to match.
type entry struct {
	where string // such as servers.deny[2]
	// unreadable says that a member could not be read. An entry for allowed servers then
	// matches none; one for denied servers matches by its other members.
	unreadable bool

	name    string
	url     *urlPattern
	command []string
	env     []string
	dir     string
	digest  string
}

// document is the form of the file. Lists are decoded entry by entry, so that one that is
// wrong does not drop the others.
type document struct {
	Servers struct {
		Allow *[]jsontext.Value `json:"allow"`
		Deny  []jsontext.Value  `json:"deny"`
	} `json:"servers"`
	Trust          host.Trust     `json:"trust"`
	Dev            *bool          `json:"dev"`
	Audit          *auditDocument `json:"audit"`
	ForbiddenFlags []string       `json:"forbiddenFlags"`
}

type auditDocument struct {
	First         bool   `json:"first"`
	Keep          string `json:"keep"`
	Syslog        string `json:"syslog"`
	RequireSyslog bool   `json:"requireSyslog"`
	OTLP          string `json:"otlp"`
}

// trusts are the values of trust, the strictest first.
var trusts = []host.Trust{host.TrustAsk, host.TrustBaseline, host.TrustAuto}

func parse(path string, content []byte) (*Policy, error) {
	var d document
	if err := errors.Join(json.Unmarshal(content, &d, json.RejectUnknownMembers(true)), refuseNull(content)); err != nil {
		return nil, err
	}
	p := &Policy{Path: path, trust: d.Trust, noDev: d.Dev != nil && !*d.Dev}
	if d.Trust != "" && !slices.Contains(trusts, d.Trust) {
		p.problem("trust: found %q, want one of %q; the strictest is used", d.Trust, trusts)
		p.trust = trusts[0]
	}
	if d.Servers.Allow != nil {
		p.restricted = true
		p.allow = p.entries("servers.allow", *d.Servers.Allow)
	}
	p.deny = p.entries("servers.deny", d.Servers.Deny)
	for _, f := range d.ForbiddenFlags {
		p.flags = append(p.flags, strings.TrimLeft(f, "-"))
	}
	if err := p.readAudit(d.Audit); err != nil {
		return nil, err
	}
	return p, nil
}

// refuseNull returns an error if null is in the place of a value. The decoder takes it as an
// absent member, which restricts nothing. Those within entries are problems of the entries.
func refuseNull(content []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(content))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return nil // the end, or what is not JSON, which is an error already
		}
		at := string(d.StackPointer())
		if token.Kind() == 'n' && !strings.HasPrefix(at, "/servers/allow/") && !strings.HasPrefix(at, "/servers/deny/") {
			return fmt.Errorf("found null at %q, want a value, or no such member", cmp.Or(at, "/"))
		}
	}
}

func (p *Policy) problem(format string, args ...any) {
	p.Problems = append(p.Problems, fmt.Sprintf(format, args...))
}

// readAudit reads the requirements for the audit log. An error in them is one of the whole
// policy, because without them calls would not be recorded as the administrator wants.
func (p *Policy) readAudit(d *auditDocument) error {
	if d == nil {
		return nil
	}
	p.audit = &host.AuditSettings{First: d.First, Syslog: d.Syslog, RequireSyslog: d.RequireSyslog, OTLP: d.OTLP}
	if d.Keep != "" {
		keep, err := time.ParseDuration(d.Keep)
		if err != nil || keep <= 0 {
			return fmt.Errorf(`audit.keep: found %q, want a duration such as "8760h"`, d.Keep)
		}
		p.audit.Keep = keep
	}
	if d.RequireSyslog && d.Syslog == "" {
		return errors.New("audit.requireSyslog: want the URL of a syslog server in audit.syslog, too")
	}
	return nil
}

// entries reads a list.
func (p *Policy) entries(list string, values []jsontext.Value) []entry {
	all := make([]entry, 0, len(values))
	for i, v := range values {
		e := entry{where: fmt.Sprintf("%s[%d]", list, i)}
		p.readEntry(&e, v)
		all = append(all, e)
	}
	return all
}

// readEntry reads one entry, member by member.
func (p *Policy) readEntry(e *entry, v jsontext.Value) {
	fail := func(format string, args ...any) {
		e.unreadable = true
		p.problem("%s: %s", e.where, fmt.Sprintf(format, args...))
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(v, &members); err != nil || len(members) == 0 {
		fail(`want an object with "name", "url", "command" or "digest"`)
		return
	}
	for name, value := range members {
		var text string
		var words []string
		switch name {
		case "name", "url", "digest", "dir":
			if json.Unmarshal(value, &text) != nil || text == "" {
				fail("%s: want a text", name)
				continue
			}
		case "command", "env":
			var ok bool
			if words, ok = readTexts(value); !ok || len(words) == 0 && name == "command" {
				fail("%s: want an array of texts", name)
				continue
			}
		}
		switch name {
		case "name":
			e.name = text
		case "url":
			pattern, err := parsePattern(text)
			if err != nil {
				fail("url: %v", err)
				continue
			}
			e.url = pattern
		case "digest":
			if !digestForm.MatchString(text) {
				fail(`digest: want "sha256:" and 64 hexadecimal digits`)
				continue
			}
			e.digest = strings.ToLower(text)
		case "dir":
			if !filepath.IsAbs(text) {
				fail("dir: want an absolute path")
				continue
			}
			e.dir = filepath.Clean(text)
		case "command":
			if strings.HasPrefix(e.where, "servers.allow") && !filepath.IsAbs(words[0]) {
				fail("command: found the program %q, want its absolute path: users choose what a name leads to", words[0])
				continue
			}
			e.command = words
		case "env":
			e.env = words
		default:
			fail("found %q, want name, url, command, env, dir or digest", name)
		}
	}
	if isDenial := strings.HasPrefix(e.where, "servers.deny"); e.name == "" && e.url == nil && e.command == nil && e.digest == "" && !(isDenial && e.dir != "") && !e.unreadable {
		fail("want a name, a url, a command or a digest")
	}
}

// readTexts reads an array of texts, none of which is null.
func readTexts(value jsontext.Value) (texts []string, ok bool) {
	var all []*string
	if value.Kind() != '[' || json.Unmarshal(value, &all) != nil || slices.Contains(all, nil) {
		return nil, false
	}
	for _, text := range all {
		texts = append(texts, *text)
	}
	return texts, true
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-fA-F]{64}$`)

// RequiresAudit reports whether the policy says how calls are recorded.
func (p *Policy) RequiresAudit() bool { return p != nil && p.audit != nil }

// RequiresAsk reports whether the user has to approve each list of definitions, the first one
// of a server, too.
func (p *Policy) RequiresAsk() bool { return p != nil && p.trust == host.TrustAsk }

// Audit returns the settings of the audit log: those of the user, made as strict as the
// policy requires. The syslog server and the collector of the policy take the place of the user's.
func (p *Policy) Audit(own host.AuditSettings) host.AuditSettings {
	if !p.RequiresAudit() {
		return own
	}
	own.First = own.First || p.audit.First
	if p.audit.Keep > 0 {
		own.Keep = max(own.Keep, p.audit.Keep)
	}
	if p.audit.Syslog != "" {
		own.Syslog = p.audit.Syslog
		own.RequireSyslog = own.RequireSyslog || p.audit.RequireSyslog
	}
	own.OTLP = cmp.Or(p.audit.OTLP, own.OTLP)
	return own
}

// CheckFlags returns an error if the policy forbids a flag that is not in the list of known flags,
// such as one that is misspelt, which would forbid nothing. No server may run then.
func (p *Policy) CheckFlags(known []string) error {
	if p == nil {
		return nil
	}
	for i, f := range p.flags {
		if !slices.Contains(known, f) {
			return p.unusable(fmt.Errorf("forbiddenFlags[%d]: found %q, want a flag of fondaco", i, f))
		}
	}
	return nil
}

// ForbiddenFlag returns the first of the given flags that the policy forbids, without
// dashes, or nothing.
func (p *Policy) ForbiddenFlag(given []string) string {
	if p == nil {
		return ""
	}
	i := slices.IndexFunc(given, func(f string) bool { return slices.Contains(p.flags, f) })
	if i < 0 {
		return ""
	}
	return given[i]
}

// Describe returns what the policy says, a line for each rule.
func (p *Policy) Describe() (lines []string) {
	if p.restricted {
		lines = append(lines, fmt.Sprintf("servers: only those of %d entries, and none of %d", len(p.allow), len(p.deny)))
	} else {
		lines = append(lines, fmt.Sprintf("servers: all but those of %d entries", len(p.deny)))
	}
	if p.trust != "" {
		lines = append(lines, fmt.Sprintf("trust: %s or stricter", p.trust))
	}
	if p.noDev {
		lines = append(lines, `"dev" has no effect`)
	}
	if p.audit != nil {
		lines = append(lines, fmt.Sprintf("audit log: required; before every call: %v; syslog: %s; collector: %s",
			p.audit.First, cmp.Or(p.audit.Syslog, "none"), cmp.Or(p.audit.OTLP, "none")))
	}
	for _, f := range p.flags {
		lines = append(lines, "forbidden flag: "+f)
	}
	return lines
}
