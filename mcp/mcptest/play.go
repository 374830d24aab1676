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

// patience is how long a test waits for what has to come.
const patience = 10 * time.Second

// PlayOption adjusts how a transcript is played.
type PlayOption func(*player)

// Ignore leaves members out of the comparison of messages, wherever they stand:
// each is named by a JSON pointer from the root of the message, in which the
// token * stands for every member of an object and every element of an array,
// such as /result/tools/*/description.
func Ignore(pointers ...string) PlayOption {
	return func(p *player) {
		for _, pointer := range pointers {
			p.ignored = append(p.ignored, slices.Collect(jsontext.Pointer(pointer).Tokens()))
		}
	}
}

// Play speaks one side of the transcript to the peer at the other end of conn
// and expects the lines of the other side from it. It returns an error that
// tells where the peer first said anything else, or nothing for 10 seconds.
//
// Messages are compared by value: neither the order of members nor the way a
// number or string is written matters. What one side says in a row has to come
// in that order, but for the notifications of changes, of lists and resources:
// they belong to no request and may come anywhere in the row.
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

// rows yields the lines that one side says in a row.
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

// match returns the index of the line that got has to be: a floating one that it
// is, or else the first that does not float.
func (p *player) match(left []Line, got jsontext.Value) int {
	i := slices.IndexFunc(left, func(l Line) bool { return l.floats() && p.difference(l.Message, got) == nil })
	if i < 0 {
		i = slices.IndexFunc(left, func(l Line) bool { return !l.floats() })
	}
	return max(i, 0)
}

func (p *player) read(ctx context.Context) (jsontext.Value, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("nothing came within %v", patience))
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

// floats reports whether the line belongs to no request, so that nothing orders
// it among its neighbours.
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
