package mcpclient

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// SetLogLevel sets the minimum level of the log messages that Options.OnLog gets from
// now on. In the session era it sends the level to the server. In the stateless era each
// later call carries it.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LoggingLevel) error {
	err := c.setLogLevel(ctx, level)
	if err != nil {
		return fmt.Errorf("%s: %w", mcp.MethodSetLevel, err)
	}
	return nil
}

func (c *Client) setLogLevel(ctx context.Context, level mcp.LoggingLevel) error {
	if !level.Valid() {
		return fmt.Errorf("level %.32q: want one of RFC 5424, such as %q", level, mcp.LevelInfo)
	}
	k, err := c.currentConnection(ctx)
	if err != nil {
		return err
	}
	if !k.stateless() {
		if _, err := request[mcp.EmptyResult](ctx, c, mcp.MethodSetLevel, &mcp.SetLevelParams{Level: level}, nil); err != nil {
			return err
		}
	}
	c.level.Store(&level)
	return nil
}

// logLevel returns the level that a call of the stateless era requests, or "".
func (c *Client) logLevel(r *Request) mcp.LoggingLevel {
	if r.opts.level != "" {
		return r.opts.level
	}
	if l := c.level.Load(); l != nil {
		return *l
	}
	if c.opts.OnLog != nil || r.opts.log != nil {
		return mcp.LevelInfo
	}
	return ""
}

// LogTo returns a handler for Options.OnLog that writes the server's log messages to a
// logger, at the level that mcp.LoggingLevel.Level returns. If the data is a string, it
// is the message; if it is an object, its member msg or message is, and the other
// members are attributes. The name of the server's logger is the attribute "logger".
// Texts are truncated to 4 KiB.
//
// The server controls the texts, so the logger must quote them, as the handlers of
// package log/slog do.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func LogTo(logger *slog.Logger) func(context.Context, *mcp.LoggingMessageParams) {
	return func(ctx context.Context, m *mcp.LoggingMessageParams) {
		if !logger.Enabled(ctx, m.Level.Level()) {
			return
		}
		msg, attrs := logRecord(m.Data)
		if m.Logger != "" {
			attrs = append(attrs, slog.String("logger", truncate(m.Logger)))
		}
		logger.LogAttrs(ctx, m.Level.Level(), msg, attrs...)
	}
}

// maxLogText bounds each text that LogTo writes, in bytes.
const maxLogText = 4 << 10

func truncate(text string) string {
	if len(text) <= maxLogText {
		return text
	}
	return strings.ToValidUTF8(text[:maxLogText], "")
}

// logRecord returns the message and the attributes in the data of a log message, in the
// order of its members.
func logRecord(data jsontext.Value) (msg string, attrs []slog.Attr) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	if dec.PeekKind() != '{' {
		return logText(data), nil
	}
	_, _ = dec.ReadToken()
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			break
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		if text := logText(value); msg == "" && value.Kind() == '"' && (key == slog.MessageKey || key == "message") {
			msg = text
		} else {
			attrs = append(attrs, slog.String(truncate(key), text))
		}
	}
	return msg, attrs
}

// logText returns the text of a JSON string, and the JSON of any other value.
func logText(value jsontext.Value) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	return truncate(text)
}

// restoreLogLevel sets the level of SetLogLevel in a new session. If the server refuses
// it, the connection is still usable.
func (c *Client) restoreLogLevel(ctx context.Context, k *connection) {
	level := c.level.Load()
	if level == nil || k.stateless() || k.agreed.Load().capabilities.Logging == nil {
		return
	}
	if err := k.request(ctx, mcp.MethodSetLevel, &mcp.SetLevelParams{Level: *level}); err != nil {
		c.opts.logger().Warn("log level refused by the server", "level", string(*level), "error", err)
	}
}
