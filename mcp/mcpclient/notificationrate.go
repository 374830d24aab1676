package mcpclient

import (
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

const (
	// notificationsPerSecond limits the notifications that are read from a server, and
	// notificationBurst those that are read at once.
	notificationsPerSecond = 1000
	notificationBurst      = 10_000
	// notificationPause is how long no messages are read when a server sends more.
	notificationPause = 100 * time.Millisecond
)

func newNotificationRate() *limit.Bucket {
	return limit.NewBucket(mcp.Rate{PerSecond: notificationsPerSecond, Burst: notificationBurst})
}

// awaitNotificationRate waits while the server sends too many notifications. The goroutine that reads the
// pipe or stream calls it, so that the server has to wait as well: its messages fill the pipe, and not the
// queue, from which the oldest would be dropped. All streams of a server share the rate, because they share the
// queue. A stream with few notifications gets through beside one that floods: that one takes what there is every
// notificationPause, and what comes in between is for whoever asks first.
func (c *Client) awaitNotificationRate(method string) {
	for {
		if _, ok := c.notificationRate.Take(); ok {
			return
		}
		c.reportLimit(mcp.LimitNotifications, method)
		pause := time.NewTimer(notificationPause)
		select {
		case <-pause.C:
		case <-c.ctx.Done():
			pause.Stop()
			return
		}
	}
}
