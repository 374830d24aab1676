package mcpclient

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// Both streams begin to wait at the same time, and one of them takes all notifications that it can.
func TestStreamThatFloodsLeavesNotificationsToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := &Client{ctx: ctx, notificationRate: newNotificationRate(), limits: &limit.Reporter{Logger: slog.New(slog.DiscardHandler)}}
		go func() {
			for ctx.Err() == nil {
				c.awaitNotificationRate(mcp.NotificationProgress)
			}
		}()
		synctest.Wait() // the burst is over
		for i := range 20 {
			began := time.Now()
			c.awaitNotificationRate(mcp.NotificationMessage)
			if took := time.Since(began); took > time.Second {
				t.Fatalf("notification %d of the other stream waited for %v, want one of the next tries", i, took)
			}
			time.Sleep(notificationPause)
		}
	})
}
