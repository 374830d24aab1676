package mcpserver

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"log/slog"

	"github.com/fondaco/fondaco/mcp"
)

// Log returns a logger that reaches the client of the call that ctx belongs to,
// at the levels that it asked for. Outside of a call it discards everything.
// What it says is read by the client's users: no secrets, no internals. Of one call
// 100 messages are sent at once, then one every 10 ms; others are left out, and how
// many were is told.
//
// Deprecated: the protocol's logging is part of no revision released on or after
// 2027-07-28. Log to the server's own log, or use OpenTelemetry.
func Log(ctx context.Context) *slog.Logger {
	r := From(ctx)
	if r == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(newClientLog(r))
}

// clientLog is a slog.Handler whose records become notifications/message.
type clientLog struct {
	r      *Request
	render func(*bytes.Buffer) slog.Handler
}

func newClientLog(r *Request) *clientLog {
	return &clientLog{r: r, render: func(b *bytes.Buffer) slog.Handler {
		return slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: dataOnly})
	}}
}

// dataOnly leaves out what the notification says by itself.
func dataOnly(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}

// Enabled reports whether the client wants messages of the level.
func (h *clientLog) Enabled(_ context.Context, level slog.Level) bool {
	return h.r.wantsLog(mcp.LoggingLevelOf(level))
}

// LogLevel returns the least urgent level of the log messages that the client wants
// for the request, and false when it wants none, and outside of a request.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on or
// after 2027-07-28 may remove.
func (r *Request) LogLevel() (mcp.LoggingLevel, bool) {
	if r == nil {
		return "", false
	}
	return r.call.LogLevel()
}

func (r *Request) wantsLog(level mcp.LoggingLevel) bool {
	least, wanted := r.call.LogLevel()
	return wanted && !r.run.Repeats() && level.Severity() <= least.Severity()
}

// ForwardLog sends a log message of another server (notifications/message) to the
// client of the call that ctx belongs to, with its level, logger and data, if the
// client asked for that level. It has the rate limit of [Log]. Outside of a call it
// does nothing. A message without data, or of an unknown level, is an error.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on or
// after 2027-07-28 may remove.
func ForwardLog(ctx context.Context, m *mcp.LoggingMessageParams) error {
	if !m.Level.Valid() || !m.Data.IsValid() {
		return fmt.Errorf("log message: level %.32q, %d bytes of data: want a level of RFC 5424 and a JSON value", m.Level, len(m.Data))
	}
	r := From(ctx)
	if r == nil || !r.wantsLog(m.Level) {
		return nil
	}
	return r.log(&mcp.LoggingMessageParams{Level: m.Level, Logger: m.Logger, Data: m.Data, Meta: r.detached.meta()})
}

// Handle sends one record.
//
// Spec: 2026-07-28 server/utilities/logging
func (h *clientLog) Handle(ctx context.Context, rec slog.Record) error {
	var b bytes.Buffer
	if err := h.render(&b).Handle(ctx, rec); err != nil {
		return err
	}
	return h.r.log(&mcp.LoggingMessageParams{
		Level:  mcp.LoggingLevelOf(rec.Level),
		Logger: h.r.server.info.Name,
		Data:   unique(bytes.TrimSpace(b.Bytes())),
		Meta:   h.r.detached.meta(),
	})
}

// unique keeps the last of the members that have one name: slog writes them all,
// and no message may hold them.
func unique(raw jsontext.Value) jsontext.Value {
	var members map[string]jsontext.Value
	if raw.IsValid() || json.Unmarshal(raw, &members, jsontext.AllowDuplicateNames(true)) != nil {
		return raw
	}
	for name, value := range members {
		members[name] = unique(value)
	}
	out, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return raw
	}
	return out
}

// WithAttrs returns a handler that adds attrs to every record.
func (h *clientLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &clientLog{r: h.r, render: func(b *bytes.Buffer) slog.Handler { return h.render(b).WithAttrs(attrs) }}
}

// WithGroup returns a handler that puts what follows into a group.
func (h *clientLog) WithGroup(name string) slog.Handler {
	return &clientLog{r: h.r, render: func(b *bytes.Buffer) slog.Handler { return h.render(b).WithGroup(name) }}
}

// setLevel does logging/setLevel of the session era.
func (s *Server) setLevel(_ context.Context, r *Request) (any, error) {
	var p mcp.SetLevelParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	return nil, r.call.Session.SetLogLevel(p.Level)
}
