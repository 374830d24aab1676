package streamhttp

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// taker is an http.ResponseWriter that takes so many writes.
type taker struct {
	header    http.Header
	most      int
	got       bytes.Buffer
	writes    []int
	deadlines []time.Time
}

var errFull = errors.New("takes no more")

func (w *taker) Header() http.Header { return w.header }
func (w *taker) WriteHeader(int)     {}
func (w *taker) Flush()              {}

func (w *taker) Write(p []byte) (int, error) {
	if len(w.writes) == w.most {
		return 0, errFull
	}
	w.writes = append(w.writes, len(p))
	return w.got.Write(p)
}

func (w *taker) SetWriteDeadline(t time.Time) error {
	w.deadlines = append(w.deadlines, t)
	return nil
}

// cut returns a reply in parts and what it is in one piece.
func cut(t *testing.T, sizes ...int) (reply *dialect.Reply, whole []byte) {
	t.Helper()
	reply = &dialect.Reply{Body: []byte(`{"id":1`), Status: http.StatusOK}
	whole = slices.Clone(reply.Body)
	for i, size := range sizes {
		part := dialect.Part{At: len(reply.Body), JSON: bytes.Repeat([]byte{'0' + byte(i)}, size)}
		if i%2 == 1 {
			text, ok := rawjson.TextOf(strings.Repeat("\"1\n", size/3))
			if !ok {
				t.Fatal("not a text")
			}
			part = dialect.Part{At: len(reply.Body), Text: text}
		}
		reply.Parts = append(reply.Parts, part)
		reply.Body = append(reply.Body, `,"x":`...)
		whole = part.Text.Append(append(whole, part.JSON...))
		whole = append(whole, `,"x":`...)
	}
	reply.Body, whole = append(reply.Body, '}'), append(whole, '}')
	return reply, whole
}

func TestReplyInPartsIsSentCompletely(t *testing.T) {
	for _, sizes := range [][]int{{}, {10}, {writeAtOnce - 7}, {writeAtOnce - 6}, {writeAtOnce}, {3*writeAtOnce + 1}, {0, writeAtOnce}, {10, 200_000, 300_000, 7, 0, 400_000}, {writeAtOnce, 0, writeAtOnce}} {
		for _, form := range []Answer{AnswerJSON, AnswerStream} {
			reply, whole := cut(t, sizes...)
			if form == AnswerStream {
				whole = slices.Concat([]byte("event: message\ndata: "), whole, []byte("\n\n"))
			}
			w := &taker{header: make(http.Header), most: -1}
			newResponder(w, &Options{Answer: form}, nil).finish(reply)
			if !bytes.Equal(w.got.Bytes(), whole) {
				t.Fatalf("%v as %v: got %d bytes, want %d", sizes, form, w.got.Len(), len(whole))
			}
			if slices.Max(w.writes) > writeAtOnce || len(w.deadlines) < len(w.writes) {
				t.Errorf("%v as %v: got writes of %v bytes under %d deadlines", sizes, form, w.writes, len(w.deadlines))
			}
		}
	}
}

func TestNothingIsWrittenAfterAFailure(t *testing.T) {
	for maxCount := range 4 {
		reply, _ := cut(t, 300_000, 300_000, 300_000)
		w := &taker{header: make(http.Header), most: maxCount}
		a := newResponder(w, &Options{Answer: AnswerStream}, nil)
		a.finish(reply)
		if len(w.writes) != maxCount || len(w.deadlines) != maxCount+1 || a.err != errFull {
			t.Errorf("after %d writes: got %d writes, %d tries, %v", maxCount, len(w.writes), len(w.deadlines), a.err)
		}
	}
}

// A write of two pieces may take twice as long as one.
func TestEachPieceExtendsTheWriteDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for size, want := range map[int]time.Duration{1: 1, writePiece: 1, writePiece + 1: 2, writeAtOnce: 2} {
			w := &taker{header: make(http.Header), most: -1}
			a := newResponder(w, &Options{WriteTimeout: time.Hour}, nil)
			a.write(make([]byte, size))
			if got := time.Until(w.deadlines[0]); got != want*time.Hour {
				t.Errorf("%d bytes: got %v, want %v", size, got, want*time.Hour)
			}
		}
	})
}

func TestLargeEventHasTheFormOfASmallOne(t *testing.T) {
	for _, data := range []string{strings.Repeat("x", writePiece), strings.Repeat("x", writePiece+1), strings.Repeat("x", 5*writePiece), strings.Repeat("x\n", writePiece), strings.Repeat("\rx", writePiece)} {
		ev := sse.Event{ID: "1", Name: "message", Retry: time.Second, Data: []byte(data)}
		w := &taker{header: make(http.Header), most: -1}
		if err := newResponder(w, nil, nil).sendEvents(ev, ev); err != nil {
			t.Fatal(err)
		}
		if want := sse.AppendEvent(sse.AppendEvent(nil, ev), ev); !bytes.Equal(w.got.Bytes(), want) {
			t.Errorf("%.3q of %d bytes: got %d bytes, want %d", data, len(data), w.got.Len(), len(want))
		}
	}
}
