package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestOnlyARemovedEntryOfAHostIsReportedAsRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &faultyStore{Store: new(mcpserver.MemoryStore)}
		var words bytes.Buffer
		q := &userQuestions{main: newTestMain(t, "", &words), watchers: consent.NewWatchers(store)}
		self := consent.Watcher{ID: "self"}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			q.announce(ctx, self)
		}()
		check := func(when string, announced bool, failures, removals int) {
			t.Helper()
			time.Sleep(3 * consent.WatcherTime)
			synctest.Wait()
			has, err := q.watchers.Has(ctx, self)
			if f, r := strings.Count(words.String(), "no space left"), strings.Count(words.String(), "another program has removed"); has != announced || err != nil || f != failures || r != removals {
				t.Errorf("%s: got announced %v, %v, %d failures and %d removals reported, want %v, %d and %d\n%s", when, has, err, f, r, announced, failures, removals, words.String())
			}
		}
		check("at first", true, 0, 0)
		store.full.Store(true)
		check("while the disk is full", false, 1, 0)
		store.full.Store(false)
		check("later", true, 1, 0)
		if err := q.watchers.Leave(ctx, self); err != nil {
			t.Fatal(err)
		}
		check("after a removal", true, 1, 1)
		store.full.Store(true)
		if err := q.watchers.Leave(ctx, self); err != nil {
			t.Fatal(err)
		}
		check("after a removal while the disk is full", false, 2, 2)
		cancel()
		<-ended
	})
}
