package streamhttp

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

func TestAnswersBecomeStreamsForAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var queue jsonTimeouts
		first := newResponder(&stuck{ResponseRecorder: httptest.NewRecorder()}, &Options{}, nil)
		first.firstEvents = func() []sse.Event { return []sse.Event{{ID: "1"}} }
		queue.add(first)
		written := make([]*httptest.ResponseRecorder, 3)
		others := make([]*responder, len(written))
		for i := range written {
			written[i] = httptest.NewRecorder()
			others[i] = newResponder(written[i], &Options{}, nil)
			queue.add(others[i])
		}
		others[1].abandon() // leaves the middle of the queue
		time.Sleep(jsonTimeout)
		synctest.Wait()
		for i, want := range []string{httpheader.TypeEventStream, "", httpheader.TypeEventStream} {
			if got := written[i].Header().Get(httpheader.ContentType); got != want {
				t.Errorf("answer %d: got the content type %q after %v, want %q", i, got, jsonTimeout, want)
			}
		}
		time.Sleep(first.o.writeTimeout()) // until the write to the first client has failed
		for _, a := range append(others, first) {
			a.abandon()
		}
		if queue.front != nil || queue.back != nil {
			t.Error("an answer that has ended is still in the queue")
		}
	})
}
