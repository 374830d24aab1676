package main

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/bench/internal/contest"
	"github.com/fondaco/fondaco/bench/internal/load"
)

// listen serves, and returns the address and what tells the subscribers.
func listen(t *testing.T, tools int, resp string) (host string, update func()) {
	s := newServer(tools, 0, resp)
	h := httptest.NewServer(contest.Handler(s.HTTPHandler(), func() {}))
	t.Cleanup(h.Close)
	return strings.TrimPrefix(h.URL, "http://"), func() { s.Updated(contest.Item) }
}

func TestEveryAnswerIsRight(t *testing.T) {
	for _, resp := range []string{"json", "sse"} {
		host, _ := listen(t, 20, resp)
		for _, p := range []load.Params{
			{Era: "26", Call: "echo", Callers: 3, Size: 32},
			{Era: "26", Call: "echo", Callers: 1, Size: 1_000_000},
			{Era: "26", Call: "add", Callers: 3},
			{Era: "26", Call: "big", Callers: 2},
			{Era: "26", Call: "list", Callers: 2, Tools: 20},
			{Era: "25", Call: "echo", Callers: 3, Size: 32},
			{Era: "25", Call: "add", Callers: 2, Sessions: 5},
			{Era: "25", Call: "list", Callers: 3, Sessions: 1, Tools: 20},
		} {
			p.URL, p.PID, p.Seconds = "http://"+host+"/mcp", os.Getpid(), 0.01
			o, err := load.Run(p)
			if err != nil {
				t.Fatalf("%s %+v: %v", resp, p, err)
			}
			if o.Calls == 0 || o.Wrong > 0 {
				t.Errorf("%s %+v: got %d right answers and %d wrong ones: %s", resp, p, o.Calls, o.Wrong, o.FirstWrong)
			}
		}
	}
}

func TestEverySubscriberIsNotified(t *testing.T) {
	for _, era := range []string{"25", "26"} {
		host, update := listen(t, 0, "json")
		crowd, err := load.OpenCrowd(host, era, 10)
		if err != nil {
			t.Fatalf("era %s: %v", era, err)
		}
		update()
		if got := crowd.Await(time.Now().Add(10 * time.Second)); got != 10 {
			t.Errorf("era %s: %d of 10 subscribers heard of an update", era, got)
		}
		crowd.Close()
	}
}
