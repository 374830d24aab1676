package mcptest

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// playTimeout is how long Play waits for an expected message, also on a busy machine.
const playTimeout = 2 * time.Minute

// PlayOption changes how Play compares messages.
type PlayOption func(*player)

// Ignore leaves members out of the comparison of messages. Each is given by a JSON pointer
// from the root of the message, in which the token * matches every member of an object and
// every element of an array, such as /result/tools/*/description.
func Ignore(pointers ...string) PlayOption {
	return func(p *player) {
		for _, pointer := range pointers {
			p.ignored = append(p.ignored, slices.Collect(jsontext.Pointer(pointer).Tokens()))
		}
	}
}

// Play sends the lines of one side of the transcript to the peer at the other end of conn,
// and expects the lines of the other side from it. It returns an error for the first line
// that differs, or that does not arrive within 10 seconds.
//
// Messages are compared by value: the order of members and the notation of numbers and
// strings do not matter. Consecutive lines of one side have to arrive in their order.
// Notifications of changed lists and resources may arrive anywhere among them, because
// they belong to no request.
func (t *Transcript) Play(ctx context.Context, as Side, conn mcp.Conn, opts ...PlayOption) error {
	p := &player{name: t.Name, conn: conn}
	for _, set := range opts {
		set(p)
	}
	for row := range rows(t.Lines) {
		do := p.expect
		if row[0].From == as {
			do = p.say
		}
		if err := do(ctx, row); err != nil {
			return fmt.Errorf("play: %w", err)
		}
	}
	return nil
}

// rows yields the groups of consecutive lines of one side.
func rows(lines []Line) func(yield func([]Line) bool) {
	return func(yield func([]Line) bool) {
		for len(lines) > 0 {
			n := slices.IndexFunc(lines, func(l Line) bool { return l.From != lines[0].From })
			if n < 0 {
				n = len(lines)
			}
			if !yield(lines[:n]) {
				return
			}
			lines = lines[n:]
		}
	}
}

// player plays one transcript once.
type player struct {
	comparison
	name string
	conn mcp.Conn
}

func (p *player) say(ctx context.Context, row []Line) error {
	for _, l := range row {
		if err := p.conn.Write(ctx, l.Message); err != nil {
			return p.errorf(l, "send: %w", err)
		}
	}
	return nil
}

// expect reads as many messages as the row has lines.
func (p *player) expect(ctx context.Context, row []Line) error {
	for left := slices.Clone(row); len(left) > 0; {
		got, err := p.read(ctx)
		if err != nil {
			return p.errorf(left[0], "%w\nwant %s", err, left[0].Message)
		}
		i := p.match(left, got)
		if err := p.difference(left[i].Message, got); err != nil {
			return p.errorf(left[i], "%w\ngot  %s\nwant %s", err, got, left[i].Message)
		}
		left = slices.Delete(left, i, i+1)
	}
	return nil
}

// match returns the index of the line to compare with got: a floating line that is equal
// to it, or else the first line that does not float.
func (p *player) match(left []Line, got jsontext.Value) int {
	i := slices.IndexFunc(left, func(l Line) bool { return l.floats() && p.difference(l.Message, got) == nil })
	if i < 0 {
		i = slices.IndexFunc(left, func(l Line) bool { return !l.floats() })
	}
	return max(i, 0)
}

func (p *player) read(ctx context.Context) (jsontext.Value, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, playTimeout, fmt.Errorf("no message within %v", playTimeout))
	defer cancel()
	got, err := p.conn.Read(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return got, err
}

func (p *player) errorf(l Line, format string, args ...any) error {
	return fmt.Errorf("%s:%d: "+format, append([]any{p.name, l.number}, args...)...)
}

// floats reports whether the line belongs to no request, so that it has no fixed place
// among its neighbours.
func (l Line) floats() bool {
	var m struct {
		Method string `json:"method"`
	}
	_ = json.Unmarshal(l.Message, &m)
	switch m.Method {
	case mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged,
		mcp.NotificationResourcesListChanged, mcp.NotificationResourceUpdated:
		return true
	}
	return false
}
