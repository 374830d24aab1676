package cli

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpreplay"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

var replayEntry = commandInfo{
	name: "replay", operands: "FILE...", does: "send a recorded session to a server, or answer as one",
	about: `FILE is a recording of "up --record" or "record"; several are those of one
server, such as the connections of a host to it. Its lists, calls, prompts, reads
and completions are sent to the server that the flags name, and the answers
compared: the exit code is 7 if they differ. Calls are made again, with all their
effects. Ids, cursors, times, and what the recording has as redacted are not
compared. With --as-server it serves a client over standard input and output, or
over HTTP, and answers as the recorded server did; nothing is started.`,
	example: "replay recordings/20261128-090105.120-git-c4.jsonl -- git-server",
	make:    func() command { return new(replayCommand) },
}

type replayCommand struct {
	serverFlags
	comparison
	asServer       bool
	addr, revision string
}

// comparison has the flags of commands that compare recordings.
type comparison struct{ ignored []string }

func (c *comparison) declare(f *flag.FlagSet) {
	f.Func("ignore", "do not compare `POINTER`, such as /content/*/text; may be repeated", func(pointer string) error {
		if !strings.HasPrefix(pointer, "/") {
			return fmt.Errorf("want a JSON pointer such as /content/*/text")
		}
		c.ignored = append(c.ignored, pointer)
		return nil
	})
}

func (v *replayCommand) declare(f *flag.FlagSet) {
	v.serverFlags.declare(f)
	v.comparison.declare(f)
	f.BoolVar(&v.asServer, "as-server", false, "answer as the recorded server did")
	f.StringVar(&v.addr, "http", "", "with --as-server: serve at `HOST:PORT`, on loopback")
	f.StringVar(&v.revision, "revision", "", "use the protocol `REVISION`; \"fondaco version\" lists them")
}

func (v *replayCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) == 0 {
		return usagef("found no operands, want a recording")
	}
	var revisions []mcp.Revision
	if v.revision != "" {
		revision, ok := mcp.ParseRevision(v.revision)
		if !ok {
			return usagef("--revision %q: want one of %v", v.revision, mcp.Revisions())
		}
		revisions = []mcp.Revision{revision}
	}
	var recs []*mcpwire.Recording
	for _, name := range operands {
		rec, err := readRecording(name)
		if err != nil {
			return err
		}
		recs = append(recs, rec)
	}
	switch {
	case v.asServer && len(v.named()) > 0:
		return usagef("found --as-server with %s, want one of them", v.named()[0])
	case v.asServer:
		return v.serve(ctx, m, recs, revisions)
	case v.addr != "":
		return usagef("found --http without --as-server, want both")
	}
	p := mcpreplay.NewPlayer(&mcpreplay.Options{Ignore: v.ignored}, recs...)
	o := &mcpclient.Options{Revisions: revisions}
	p.Answer(o)
	v.asksNobody = true
	c, err := v.connect(ctx, m, "", o)
	if err != nil {
		return err
	}
	report, err := p.Play(ctx, c.Client)
	if err != nil {
		return err
	}
	return m.writeReport(report, v.json, "the server answers otherwise than in the recording", "the server answers as in the recording")
}

// readRecording reads a recording.
func readRecording(name string) (*mcpwire.Recording, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, usagef("%w", err)
	}
	defer file.Close()
	rec, err := mcpwire.ReadRecording(file)
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	return rec, nil
}

// writeReport prints the outcome of a comparison. Differences are an error.
func (m *Main) writeReport(r *mcpreplay.Report, asJSON bool, differs, equal string) error {
	if asJSON {
		if err := m.WriteDocument(terminal.Document{"report": r}); err != nil {
			return err
		}
	} else {
		for _, d := range r.Differences {
			if err := m.WriteLine("%s", d); err != nil {
				return err
			}
		}
	}
	m.Info("compared: %d, not compared: %d, differences: %d", r.Compared, r.Skipped, len(r.Differences))
	if len(r.Differences) > 0 {
		return codedErrorf(exitPolicy, "%s", differs)
	}
	m.Info("%s", equal)
	return nil
}

// serve answers as the recorded server did.
func (v *replayCommand) serve(ctx context.Context, m *Main, recs []*mcpwire.Recording, revisions []mcp.Revision) error {
	srv := mcpreplay.NewServer(&mcpserver.Options{Revisions: revisions, Logger: m.logger()}, recs...)
	if v.addr == "" {
		return srv.Run(ctx)
	}
	addr, err := net.ResolveTCPAddr("tcp", v.addr)
	if err != nil || !addr.IP.IsLoopback() {
		return usagef("--http %q: want HOST:PORT on loopback, such as 127.0.0.1:0", v.addr)
	}
	listener, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return err
	}
	m.Message("LISTEN %s", listener.Addr())
	err = srv.ServeListener(ctx, listener, srv.HTTPHandler())
	if ctx.Err() != nil {
		return nil
	}
	return err
}
