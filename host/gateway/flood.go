package gateway

import (
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// floodNoteTime is for how long the state of an upstream says that it has sent too much.
	floodNoteTime = 5 * time.Minute
	// minEqualPause is the pause between reads of equal lists from which on the state says so.
	minEqualPause = 10 * time.Second
)

// noteLimit passes on that a limit of the upstream was reached, and notes that it has sent more notifications than the client reads.
func (u *upstream) noteLimit(l mcp.LimitReached) {
	u.connector.options.notifyLimit(u.connector.upstream.Key, l)
	if l.Limit == mcp.LimitNotifications {
		u.flooded.Store(time.Now().UnixNano())
	}
}

// floods returns remarks about what the upstream sends too often.
func (u *upstream) floods() (remarks []string) {
	if last := u.flooded.Load(); last != 0 && time.Since(time.Unix(0, last)) < floodNoteTime {
		remarks = append(remarks, "notifications: the server sends more than are read; its messages are read more slowly")
	}
	if pause := u.pool.SharedConn().EqualPause(); pause >= minEqualPause {
		remarks = append(remarks, fmt.Sprintf("lists: the server announces changes again and again, but they stay as they are; they are read every %v at most", pause))
	}
	return remarks
}
