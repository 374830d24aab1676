package replay_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

var digestA, digestOther = replay.DigestOf(nil, "question a"), replay.DigestOf(nil, "another question")

// started returns a run with the memory and answers, that may leave questions open.
func started(m replay.Memory, given map[string]jsontext.Value) *replay.Run {
	r := new(replay.Run)
	r.Start(m, nil, 2)
	for key, raw := range given {
		r.Give(key, raw)
	}
	return r
}

func ask(r *replay.Run, keys ...string) error {
	var questions replay.Table[replay.Question]
	for _, key := range keys {
		q := question(key, 0)
		questions.Set(key, replay.Question{InputRequest: q, Digest: replay.DigestOfRequest(q)})
	}
	return r.Ask(questions)
}

// digestIn returns the digest of the question that is open under a key.
func digestIn(m *replay.Memory, key string) replay.Digest {
	open, _ := m.Open.Get(key)
	return open.Digest
}

func TestAnswerCountsOnlyForAnOpenQuestion(t *testing.T) {
	t.Parallel()
	answer := map[string]jsontext.Value{"a": jsontext.Value(`1`)}
	for name, test := range map[string]struct {
		memory  replay.Memory
		digest  replay.Digest
		want    string
		changed bool
	}{
		"open":                 {replay.Memory{Open: table("a", replay.OpenQuestion{Digest: digestA})}, digestA, "1", false},
		"no state":             {replay.Memory{}, digestA, "", false},
		"another one is open":  {replay.Memory{Open: table("b", replay.OpenQuestion{Digest: digestA})}, digestA, "", false},
		"changed since":        {replay.Memory{Open: table("a", replay.OpenQuestion{Digest: digestOther})}, digestA, "", true},
		"answered before":      {replay.Memory{Answers: table("a", replay.Answer{Value: jsontext.Value(`2`), Question: digestA})}, digestA, "2", false},
		"changed since answer": {replay.Memory{Answers: table("a", replay.Answer{Value: jsontext.Value(`2`), Question: digestOther})}, digestA, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := started(test.memory, answer).Answer("a", test.digest)
			if err != nil || string(got.Answer) != test.want || got.Changed != test.changed {
				t.Errorf("got %q, changed %t, %v, want %q, %t", got.Answer, got.Changed, err, test.want, test.changed)
			}
		})
	}
}

func TestQuestionsAskedBeforeTheCloseShareTheRound(t *testing.T) {
	t.Parallel()
	r := started(replay.Memory{}, nil)
	for _, key := range []string{"a", "b"} {
		if err := ask(r, key); !errors.Is(err, replay.ErrAsked) {
			t.Errorf("%s: got %v, want %v", key, err, replay.ErrAsked)
		}
	}
	out := r.Close()
	if err := ask(r, "late"); !errors.Is(err, replay.ErrAsked) {
		t.Errorf("late: got %v, want %v", err, replay.ErrAsked)
	}
	if len(out.Questions) != 2 || len(out.Next.Open) != 2 || digestIn(out.Next, "a") != replay.DigestOfRequest(question("a", 0)) {
		t.Errorf("got %v and %v, want a and b", out.Questions, out.Next.Open)
	}
}

func TestCallsAfterTheEndChangeNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before func(*replay.Run)
		want   error
	}{
		"finished": {func(*replay.Run) {}, replay.ErrEnded},
		"asked":    {func(r *replay.Run) { _ = ask(r, "a") }, replay.ErrAsked},
		"moved":    {func(r *replay.Run) { _ = r.Move(new(replay.Run)) }, replay.ErrEnded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, closed := started(replay.Memory{}, nil), false
			test.before(r)
			r.Close()
			_, answer := r.Answer("k", digestA)
			for what, err := range map[string]error{
				"Use": r.Use("k"), "Ask": ask(r, "k"), "Answer": answer, "Keep": r.Keep("k", digestA, jsontext.Value("1")),
				"Remember": r.Remember("k", jsontext.Value("1")), "Blocked": r.Blocked(),
				"Hold": r.Hold("k", replay.NewValue(1, func() { closed = true })),
			} {
				if !errors.Is(err, test.want) {
					t.Errorf("%s: got %v, want %v", what, err, test.want)
				}
			}
			if _, ok := r.Result("k"); ok || !closed || r.Advance(7) {
				t.Errorf("result remembered %t, value closed %t", ok, closed)
			}
		})
	}
}

func TestRoundThatBringsANewAnswerDoesNotCount(t *testing.T) {
	t.Parallel()
	m := replay.Memory{}
	for round := range 10 {
		key := fmt.Sprint("q", round)
		var given map[string]jsontext.Value
		if round > 0 {
			given = map[string]jsontext.Value{fmt.Sprint("q", round-1): jsontext.Value(`1`)}
		}
		r := started(m, given)
		for before := range round {
			asked := fmt.Sprint("q", before)
			digest := replay.DigestOfRequest(question(asked, 0))
			found, err := r.Answer(asked, digest)
			if err == nil && found.Answer != nil {
				err = r.Keep(asked, digest, found.Answer)
			}
			if err != nil || found.Answer == nil {
				t.Fatalf("round %d: got %s, %v for %s", round, found.Answer, err, asked)
			}
		}
		if err := ask(r, key); !errors.Is(err, replay.ErrAsked) {
			t.Fatalf("round %d: got %v, want %v", round, err, replay.ErrAsked)
		}
		m = *r.Close().Next
	}
	for range 2 {
		r := started(m, nil)
		if err := ask(r, "q9"); err != nil && !errors.Is(err, replay.ErrAsked) {
			if !errors.Is(err, replay.ErrRounds) {
				t.Errorf("got %v", err)
			}
			return
		}
		m = *r.Close().Next
	}
	t.Error("a client that never answers may go on")
}

func TestAnswerThatTheRunDidNotReachIsKept(t *testing.T) {
	t.Parallel()
	r := started(replay.Memory{}, nil)
	_ = ask(r, "a", "b")
	m := *r.Close().Next
	r = started(m, map[string]jsontext.Value{"a": jsontext.Value(`1`), "b": jsontext.Value(`2`), "c": jsontext.Value(`3`)})
	_ = r.Use("a")
	found, _ := r.Answer("a", digestIn(&m, "a"))
	_ = r.Keep("a", digestIn(&m, "a"), found.Answer)
	_ = ask(r, "c")
	next := r.Close().Next
	if b, _ := next.Answers.Get("b"); len(next.Answers) != 2 || string(b.Value) != "2" || b.Question != digestIn(&m, "b") {
		t.Errorf("got %v, want the answers to a and b", next.Answers)
	}
}

func TestKeysAreUsedOnce(t *testing.T) {
	t.Parallel()
	r := started(replay.Memory{}, nil)
	for keys, want := range map[string]string{"": "want 1 to 64 bytes", strings.Repeat("x", 65): "want 1 to 64 bytes"} {
		if err := r.Use(keys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", keys, err)
		}
	}
	if err := errors.Join(r.Use("a"), r.Use("b")); err != nil {
		t.Error(err)
	}
	if err := r.Use("b"); err == nil || !strings.Contains(err.Error(), "used already") {
		t.Errorf("got %v", err)
	}
	r.Again()
	if err := r.Use("b"); err != nil {
		t.Errorf("another pass: got %v", err)
	}
}

func TestMoveTransfersMemoryAndValues(t *testing.T) {
	t.Parallel()
	from, to := started(replay.Memory{}, nil), new(replay.Run)
	v := replay.NewValue(1, func() {})
	_ = from.Hold("v", v)
	_ = from.Remember("step", jsontext.Value("1"))
	if err := from.Move(to); err != nil {
		t.Fatal(err)
	}
	if held, _ := to.Value("v"); held != v {
		t.Error("the value stayed behind")
	}
	if _, ok := to.Result("step"); !ok {
		t.Error("the result stayed behind")
	}
	if out := from.Close(); out != nil {
		t.Errorf("got %+v of a run that was moved", out)
	}
	asked := started(replay.Memory{}, nil)
	_ = ask(asked, "a")
	if err := asked.Move(new(replay.Run)); !errors.Is(err, replay.ErrAsked) {
		t.Errorf("got %v, want %v", err, replay.ErrAsked)
	}
}

func TestParkedValuesAreKeptTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		values := func(n int) map[string]*replay.Value {
			m := make(map[string]*replay.Value)
			for i := range n {
				m[fmt.Sprint(i)] = replay.NewValue(i, func() { closed.Add(1) })
			}
			return m
		}
		p := replay.Parked{Instance: "here"}
		free := 3
		take := func(n int, _ func()) (func(), error) {
			if n > free {
				return nil, errors.New("no room")
			}
			free -= n
			return func() { free += n }, nil
		}
		if tickets, err := p.Put(mcp.PrincipalLocal, values(4), time.Minute, take); err == nil || tickets != nil {
			t.Errorf("got %v, %v, want it refused", tickets, err)
		}
		first, err := p.Put(mcp.PrincipalLocal, values(3), time.Minute, take)
		if err != nil || len(first) != 3 {
			t.Fatalf("got %v, %v", first, err)
		}
		if v := p.TakeAll(one("0", first), mcp.PrincipalAnonymous); v != nil {
			t.Error("another principal took the value")
		}
		if v := p.TakeAll(one("0", first), mcp.PrincipalLocal)["0"]; v == nil || p.TakeAll(one("0", first), mcp.PrincipalLocal) != nil {
			t.Error("want the value once")
		} else {
			v.Close()
			v.Close()
		}
		replay.CloseAll(p.TakeAll(one("1", first), mcp.PrincipalLocal))
		if n := closed.Load(); n != 2 {
			t.Errorf("%d are closed, want 2", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := closed.Load(); n != 3 {
			t.Errorf("%d are closed when all have expired, want 3", n)
		}
		if _, err := p.Put(mcp.PrincipalLocal, values(1), time.Minute, take); err != nil {
			t.Error(err)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := p.Put(mcp.PrincipalLocal, values(1), time.Minute, take); !errors.Is(err, replay.ErrShutdown) || closed.Load() != 4 {
			t.Errorf("got %v, %d closed, want %v and 4", err, closed.Load(), replay.ErrShutdown)
		}
		if free != 3 {
			t.Errorf("%d places are free when nothing is parked, want 3", free)
		}
	})
}

func TestEvictedValuesAreClosedTogetherAndOnce(t *testing.T) {
	t.Parallel()
	var closed atomic.Int32
	values := func() map[string]*replay.Value {
		return map[string]*replay.Value{
			"a": replay.NewValue("a", func() { closed.Add(1) }),
			"b": replay.NewValue("b", func() { closed.Add(1) }),
		}
	}
	var evict func()
	released := 0
	take := func(_ int, e func()) (func(), error) {
		evict = e
		return func() { released++ }, nil
	}
	p := replay.Parked{Instance: "here"}
	tickets, err := p.Put(mcp.PrincipalLocal, values(), time.Minute, take)
	if err != nil {
		t.Fatal(err)
	}
	taken := p.TakeAll(one("a", tickets), mcp.PrincipalLocal)["a"]
	evict()
	if v := p.TakeAll(one("b", tickets), mcp.PrincipalLocal); v != nil {
		t.Error("an evicted value is given out")
	}
	taken.Close()
	early := values()
	tickets, err = p.Put(mcp.PrincipalLocal, early, time.Minute, func(n int, e func()) (func(), error) {
		e()
		return take(n, e)
	})
	if !errors.Is(err, replay.ErrEvicted) || tickets != nil {
		t.Errorf("got %v, %v of values that were evicted before they were kept, want %v", tickets, err, replay.ErrEvicted)
	}
	replay.CloseAll(early)
	_ = p.Shutdown(t.Context())
	if n := closed.Load(); n != 4 || released != 2 {
		t.Errorf("%d values are closed and %d places released, want 4 and 2", n, released)
	}
}

// one returns one of several tickets.
func one(key string, tickets map[string]string) map[string]string {
	return map[string]string{key: tickets[key]}
}

func TestShutdownDoesNotWaitForASlowCloseLongerThanItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := replay.Parked{Instance: "here"}
		slow := map[string]*replay.Value{"slow": replay.NewValue(1, func() { time.Sleep(time.Hour) })}
		if _, err := p.Put(mcp.PrincipalLocal, slow, time.Minute, func(int, func()) (func(), error) { return func() {}, nil }); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("got %v after %v, want %v after 1s", err, time.Since(begin), context.DeadlineExceeded)
		}
		time.Sleep(time.Hour)
	})
}

// Otherwise a client that answers another question in between would be asked without end.
func TestQuestionStaysOneThatWasAskedAgain(t *testing.T) {
	t.Parallel()
	memory := replay.Memory{Open: table("a", replay.OpenQuestion{Digest: digestA, Again: true})}
	var run replay.Run
	run.Start(memory, nil, 8)
	if found, err := run.Answer("a", digestA); err != nil || !found.Again || found.Answer != nil {
		t.Errorf("got %+v, %v, want it asked again already", found, err)
	}
	if found, err := run.Answer("a", digestOther); err != nil || found.Again {
		t.Errorf("got %+v, %v for another question, want it new", found, err)
	}
}
