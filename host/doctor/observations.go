package doctor

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// observations are what was seen of a server while the connection was made.
type observations struct {
	mu         sync.Mutex
	unknown    string   // guarded by mu: the revision of a handshake that this program does not know
	challenged bool     // guarded by mu: the server wants credentials
	stderr     []string // guarded by mu: the last lines
	warnings   []string // guarded by mu: of the client, about the server
}

// maxKeptLines limits the lines of standard error and of warnings that are kept.
const maxKeptLines = 20

func (o *observations) addStderr(line string, _ int) { o.addTo(&o.stderr, line) }

func (o *observations) addTo(lines *[]string, line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*lines = append(*lines, line)
	*lines = (*lines)[max(len(*lines)-maxKeptLines, 0):]
}

// message looks for the revision that the server answers with.
func (o *observations) message(m mcp.WireMessage) {
	if m.Sent || len(m.Data) == 0 {
		return
	}
	var answer struct {
		Result struct {
			ProtocolVersion string   `json:"protocolVersion"`
			Supported       []string `json:"supportedVersions"`
		} `json:"result"`
	}
	if json.Unmarshal(m.Data, &answer) != nil {
		return
	}
	versions := append(answer.Result.Supported, answer.Result.ProtocolVersion)
	known := slices.ContainsFunc(versions, func(v string) bool { _, ok := mcp.ParseRevision(v); return ok })
	versions = slices.DeleteFunc(versions, func(v string) bool { return v == "" })
	if known || len(versions) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unknown = strings.Join(versions, ", ")
}

func (o *observations) unknownRevision() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unknown
}

func (o *observations) wasChallenged() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.challenged
}

func (o *observations) lastStderr() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.stderr, "\n")
}

// strayOutput returns the warning of the client about lines on standard output, empty for none.
func (o *observations) strayOutput() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range o.warnings {
		if strings.Contains(w, "on standard output that is not a message") {
			return w
		}
	}
	return ""
}

// warningHandler is a slog.Handler that keeps the warnings of a client.
type warningHandler struct{ observed *observations }

// Enabled implements slog.Handler.
func (w warningHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements slog.Handler.
func (w warningHandler) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%s", a.Key, a.Value)
		return true
	})
	w.observed.addTo(&w.observed.warnings, text)
	return nil
}

// WithAttrs implements slog.Handler.
func (w warningHandler) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w warningHandler) WithGroup(string) slog.Handler { return w }

// challengeRecorder is an authorizer that notes challenges of the server.
type challengeRecorder struct {
	mcpclient.Authorizer
	observed *observations
}

// Challenged implements mcpclient.Authorizer.
func (n challengeRecorder) Challenged(req *http.Request, resp *http.Response) error {
	n.observed.mu.Lock()
	n.observed.challenged = true
	n.observed.mu.Unlock()
	return n.Authorizer.Challenged(req, resp)
}
