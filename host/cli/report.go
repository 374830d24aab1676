package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/terminal"
)

var reportEntry = commandInfo{
	name: "report", does: "write a file for a report of a fault, without secrets",
	about: `The file is JSON, to be read before it is sent. It has versions, the names,
transports, programs and origins of the servers, their states and reasons, the
limits that were reached, whether the audit log is as it was written, and of
the last 1,000 messages of each running host when, from whom to whom, method,
tool, size and outcome. It has no bodies of messages, arguments, values of
variables and headers, names of users and home directories. The servers are those
of the running hosts, or else of the user's own configuration, unless --config
names one.`,
	example: "report",
	make:    func() command { return new(reportCommand) },
}

type reportCommand struct {
	output
	config, file string
}

func (v *reportCommand) declare(f *flag.FlagSet) {
	f.BoolVar(&v.quiet, "q", false, "print errors only")
	declareConfig(f, &v.config)
	f.StringVar(&v.file, "file", "", "write to `FILE`, - for standard output; default fondaco-report-TIME.json")
}

// faultReport is the file.
type faultReport struct {
	Report        int              `json:"report"` // the version of this format
	About         string           `json:"about"`
	Time          time.Time        `json:"time"`
	Version       string           `json:"version"`
	Go            string           `json:"go"`
	System        string           `json:"system"`
	Configuration reportedConfig   `json:"configuration"`
	Audit         reportedAudit    `json:"audit"`
	Hosts         []jsontext.Value `json:"hosts"`
	Problems      []string         `json:"problems,omitempty"` // that the report itself had
}

const aboutReport = "A report of a fault, without bodies of messages, arguments, values of variables and headers, names of users and home directories. " +
	"Reasons of states are texts of servers. Read it before you send it."

type reportedConfig struct {
	Servers  []shownServer `json:"servers"`
	Errors   []string      `json:"errors,omitempty"`
	Warnings int           `json:"warnings"`
}

type reportedAudit struct {
	OK       bool     `json:"ok"`
	Lines    int64    `json:"lines"`
	Problems []string `json:"problems,omitempty"`
}

func (v *reportCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 0 {
		return usagef("found %q, want no operands", operands[0])
	}
	now := time.Now()
	r := faultReport{
		Report: 1, About: aboutReport, Time: now.UTC(), Version: host.Version, Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Hosts: []jsontext.Value{},
	}
	found, err := m.runningHosts(ctx)
	r.problem("running hosts", err)
	r.Configuration.Servers = []shownServer{}
	for _, path := range v.paths(m, found) {
		r.Configuration.add(m, &r, path)
	}
	r.Audit = m.auditReport(ctx, &r)
	for _, h := range found {
		text, err := h.client.Report(ctx)
		if err != nil {
			r.problem("host", err)
			continue
		}
		r.Hosts = append(r.Hosts, text)
	}
	if len(found) == 0 {
		r.problem("hosts", fmt.Errorf("none is running, so there are no states and messages"))
	}
	text, err := json.Marshal(&r, json.Deterministic(true))
	if err != nil {
		return err
	}
	if text, err = newPrivateText(m).json(text); err != nil {
		return err
	}
	return v.write(m, text, now)
}

// problem notes that something could not be reported.
func (r *faultReport) problem(what string, err error) {
	if err != nil {
		r.Problems = append(r.Problems, what+": "+err.Error())
	}
}

// paths returns the configurations to describe: that of --config, else those of the running hosts, else the
// user's own.
func (v *reportCommand) paths(m *Main, found []*foundHost) (paths []string) {
	if v.config != "" {
		return []string{v.config}
	}
	for _, h := range found {
		if path := h.status.ConfigPath; path != "" && !h.status.Demonstration && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	if own := config.Find(m.Getenv); len(paths) == 0 && own != "" {
		paths = append(paths, own)
	}
	return paths
}

// add describes the servers of a configuration, and from then on hides their secrets.
func (shown *reportedConfig) add(m *Main, r *faultReport, path string) {
	c, err := config.Load(path, &config.Options{Env: m.Getenv, Ask: placeholder})
	if err != nil {
		r.problem("configuration", err)
		return
	}
	m.secrets.configure(c.Upstreams)
	for i := range c.Upstreams {
		shown.Servers = append(shown.Servers, showUpstream(&c.Upstreams[i]))
	}
	for _, name := range c.Disabled {
		shown.Servers = append(shown.Servers, shownServer{Name: name, State: "disabled"})
	}
	for _, name := range c.Broken {
		shown.Servers = append(shown.Servers, shownServer{Name: name, State: "broken"})
	}
	for _, e := range c.Errors {
		shown.Errors = append(shown.Errors, e.Error())
	}
	shown.Warnings += len(c.Warnings)
}

// auditReport verifies the audit log.
func (m *Main) auditReport(ctx context.Context, r *faultReport) (verified reportedAudit) {
	found, err := m.storage().VerifyAudit(ctx)
	if err != nil {
		r.problem("audit log", err)
		return verified
	}
	verified = reportedAudit{OK: found.OK(), Lines: found.Lines}
	for _, p := range found.Problems {
		verified.Problems = append(verified.Problems, describeProblem(p))
	}
	return verified
}

// write writes the report to a new file, or to standard output.
func (v *reportCommand) write(m *Main, text []byte, now time.Time) error {
	if v.file == "-" {
		_, err := m.Stdout.Write(text)
		return err
	}
	name := cmp.Or(v.file, "fondaco-report-"+now.Format("20060102-150405")+".json")
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return usagef("report: %w; --file names another file", err)
	}
	if _, err := file.Write(text); err != nil {
		_ = file.Close()
		return fmt.Errorf("report: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	m.Info("wrote %s; read it before you send it", name)
	return nil
}

// json returns a JSON text, indented, with every string in it without secrets and names of people. Names of members
// stay.
func (p *privateText) json(text []byte) ([]byte, error) {
	var out bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(text))
	to := jsontext.NewEncoder(&out, jsontext.WithIndent("  "))
	for {
		token, err := in.ReadToken()
		if err != nil {
			break // the end: the text is JSON that was just made
		}
		kind, n := in.StackIndex(in.StackDepth())
		if isName := kind == '{' && n%2 == 1; token.Kind() == '"' && !isName {
			token = jsontext.String(p.of(token.String()))
		}
		if err := to.WriteToken(token); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
	}
	return terminal.CleanJSON(out.Bytes()), nil
}
