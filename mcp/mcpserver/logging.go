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

// Log returns a logger for logging to the client: it sends its records to the client of the
// call that ctx belongs to (notifications/message), if the client asked for their level.
// Outside of a call it discards all records. Users of the client read them, so they must
// not contain secrets or internals. A call sends up to 100 messages at once, then one every
// 10 ms. Others are omitted, and a message reports how many. It is safe for concurrent use.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on or
// after 2027-07-28 may remove. Log to the server's own log with [Logger], or use OpenTelemetry.
func Log(ctx context.Context) *slog.Logger {
	r := From(ctx)
	if r == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(newClientLog(r))
}

// clientLog is a slog.Handler that sends records as notifications/message.
type clientLog struct {
	r          *Request
	newHandler func(*bytes.Buffer) slog.Handler
}

func newClientLog(r *Request) *clientLog {
	return &clientLog{r: r, newHandler: func(b *bytes.Buffer) slog.Handler {
		return slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: dataOnly})
	}}
}

// dataOnly removes the time and the level, which are not part of the data.
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

// LogLevel returns the lowest severity of log messages that the client asked for. It
// reports false when the client asked for none and when r is nil.
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
// client asked for that level. The rate limit is the one of [Log]. Outside of a call
// ForwardLog does nothing. It returns an error for a message that has no data or an
// unknown level. It is safe for concurrent use.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on or
// after 2027-07-28 may remove.
func ForwardLog(ctx context.Context, m *mcp.LoggingMessageParams) error {
	if err := checkLog(m); err != nil {
		return err
	}
	r := From(ctx)
	if r == nil || !r.wantsLog(m.Level) {
		return nil
	}
	return r.log(&mcp.LoggingMessageParams{Level: m.Level, Logger: m.Logger, Data: m.Data, Meta: r.detached.meta()})
}

// ForwardLog sends a log message of another server that belongs to no call to the client of
// the session, with its level, logger and data, if the client asked for that level. The rate
// limit is the one of [Log], for the whole session. It does nothing when the session has
// ended or is nil. It returns an error for a message that has no data or an unknown level.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on or
// after 2027-07-28 may remove.
func (s *Session) ForwardLog(ctx context.Context, m *mcp.LoggingMessageParams) error {
	if err := checkLog(m); err != nil {
		return err
	}
	if s == nil || s.ctx.Err() != nil {
		return nil
	}
	least, _ := s.of.Agreed().LogLevel()
	if m.Level.Severity() > least.Severity() {
		return nil
	}
	ok, omitted := s.logs.take(m.Level)
	if !ok {
		return nil
	}
	if omitted.count > 0 {
		if err := s.push(ctx, omitted.report(s.server.info.Name)); err != nil {
			return err
		}
	}
	return s.push(ctx, &mcp.LoggingMessageParams{Level: m.Level, Logger: m.Logger, Data: m.Data})
}

func (s *Session) push(ctx context.Context, m *mcp.LoggingMessageParams) error {
	msg, err := s.of.Agreed().Facts.Notification(mcp.NotificationMessage, m)
	if err != nil || msg == nil {
		return err
	}
	return s.of.Push(ctx, msg)
}

// checkLog returns an error for a log message that has no data or an unknown level.
func checkLog(m *mcp.LoggingMessageParams) error {
	if !m.Level.Valid() || !m.Data.IsValid() {
		return fmt.Errorf("log message: level %.32q, %d bytes of data: want a level of RFC 5424 and a JSON value", m.Level, len(m.Data))
	}
	return nil
}

// Handle sends one record.
//
// Spec: 2026-07-28 server/utilities/logging
func (h *clientLog) Handle(ctx context.Context, rec slog.Record) error {
	var b bytes.Buffer
	if err := h.newHandler(&b).Handle(ctx, rec); err != nil {
		return err
	}
	return h.r.log(&mcp.LoggingMessageParams{
		Level:  mcp.LoggingLevelOf(rec.Level),
		Logger: h.r.server.info.Name,
		Data:   lastOfDuplicates(bytes.TrimSpace(b.Bytes())),
		Meta:   h.r.detached.meta(),
	})
}

// lastOfDuplicates returns raw with only the last of several members of one name: slog
// writes all of them, and JSON-RPC messages must not have duplicate names.
func lastOfDuplicates(raw jsontext.Value) jsontext.Value {
	var members map[string]jsontext.Value
	if raw.IsValid() || json.Unmarshal(raw, &members, jsontext.AllowDuplicateNames(true)) != nil {
		return raw
	}
	for name, value := range members {
		members[name] = lastOfDuplicates(value)
	}
	out, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return raw
	}
	return out
}

// WithAttrs returns a handler that adds attrs to every record.
func (h *clientLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &clientLog{r: h.r, newHandler: func(b *bytes.Buffer) slog.Handler { return h.newHandler(b).WithAttrs(attrs) }}
}

// WithGroup returns a handler that puts what follows into a group.
func (h *clientLog) WithGroup(name string) slog.Handler {
	return &clientLog{r: h.r, newHandler: func(b *bytes.Buffer) slog.Handler { return h.newHandler(b).WithGroup(name) }}
}

// log sends a log message to the client, unless the limit is reached. Omitted messages are
// reported before the next message that is sent, and at the end of the call.
//
// Spec: 2026-07-28 server/utilities/logging#security
func (r *Request) log(m *mcp.LoggingMessageParams) error {
	o := r.begunOutgoing()
	if o == endedOutgoing {
		return nil
	}
	ok, omitted := o.logs.take(m.Level)
	if !ok {
		r.ReportLimit(mcp.LimitLog)
		return nil
	}
	if err := r.reportOmitted(omitted); err != nil {
		return err
	}
	return r.Notify(r.ctx, mcp.NotificationMessage, m)
}

// reportOmitted sends the number of omitted messages. The report has the level of the most
// urgent one, so the client has asked for it.
func (r *Request) reportOmitted(o omittedLog) error {
	if o.count == 0 {
		return nil
	}
	report := o.report(r.server.info.Name)
	report.Meta = r.detached.meta()
	return r.Notify(r.ctx, mcp.NotificationMessage, report)
}

// setLevel handles logging/setLevel of the session era.
func (s *Server) setLevel(ctx context.Context, r *Request) (any, error) {
	var p mcp.SetLevelParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if err := r.needSession(); err != nil {
		return nil, err
	}
	if shared := r.in.Session.Shared; shared != nil && p.Level.Valid() {
		return nil, shared.SetLogLevel(ctx, p.Level)
	}
	return nil, r.call.Session.SetLogLevel(p.Level)
}
