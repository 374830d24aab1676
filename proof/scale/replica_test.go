//go:build linux

package scale_test

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store/natsstore"
	"github.com/fondaco/fondaco/mcp/store/pgstore"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

// Variables of the environment of a replica.
const (
	addrVariable   = "FONDACO_SCALE_ADDR"   // on which it listens
	engineVariable = "FONDACO_SCALE_ENGINE" // the name of its engine
	urlVariable    = "FONDACO_SCALE_URL"    // of its engine
)

// watched is a resource of a replica.
const watched = "scale://watched"

// usage is what a replica has used up to now.
type usage struct {
	CPU    int64             `json:"cpu"`    // nanoseconds in user and system mode
	Memory int64             `json:"memory"` // bytes of heap and stacks after a collection of garbage, if one was asked for
	Calls  testengine.Counts `json:"calls"`
}

// runReplica serves until the process is killed.
func runReplica() error {
	engine, err := openEngine(context.Background(), os.Getenv(engineVariable), os.Getenv(urlVariable))
	if err != nil {
		return err
	}
	calls := new(testengine.Counter)
	const many = 1 << 20 // more than are measured
	o := &mcpserver.Options{
		Keys:   []mcpserver.Key{{ID: "1", Secret: []byte(strings.Repeat("k", 32))}},
		Logger: slog.New(slog.DiscardHandler),
		HTTP:   &mcpserver.HTTPOptions{MaxSessions: many, MaxStreams: many, PrincipalSessions: many, PrincipalStreams: many},
		Load:   &mcpserver.LoadOptions{MaxWatched: 4 * many},
	}
	if engine != nil {
		o.Store, o.Bus, o.HTTP.Events = calls.Store(engine), calls.Bus(engine), calls.Events(engine.Events())
	}
	srv := newServer(o)
	mux := http.NewServeMux()
	mux.Handle("/mcp", srv.HTTPHandler())
	mux.HandleFunc("POST /updated", func(http.ResponseWriter, *http.Request) { srv.Updated(watched) })
	mux.HandleFunc("GET /usage", func(w http.ResponseWriter, r *http.Request) {
		u := usage{CPU: cpuTime(), Calls: calls.Counts()}
		if r.FormValue("memory") != "" {
			u.Memory = memoryInUse()
		}
		_ = json.MarshalWrite(w, u)
	})
	return http.ListenAndServe(os.Getenv(addrVariable), mux)
}

func newServer(o *mcpserver.Options) *mcpserver.Server {
	srv := mcpserver.New("scale", "1.0.0", o)
	srv.Tool("echo", "Returns its text.", func(_ context.Context, in struct{ Text string }) (string, error) { return in.Text, nil })
	srv.Tool("ask", "Asks for a name.", func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := mcpserver.Ask[struct{ Name string }](ctx, "name", "Your name?")
		return answer.Name, err
	})
	srv.Tool("steps", "Sends ten messages.", func(ctx context.Context, _ struct{}) (string, error) {
		for i := range 10 {
			mcpserver.Progress(ctx, float64(i), 10, "")
			time.Sleep(150 * time.Millisecond) // more than the time between two messages
		}
		return "done", nil
	})
	srv.Tool("wait", "Sends a message and waits.", func(ctx context.Context, _ struct{}) (string, error) {
		mcpserver.Progress(ctx, 1, 2, "")
		<-ctx.Done()
		return "", ctx.Err()
	})
	srv.Resource(watched, "watched", "", func(context.Context) ([]byte, error) { return nil, nil })
	return srv
}

// engine is an open engine.
type engine interface {
	mcp.Store
	mcp.Bus
	io.Closer
	Events() mcp.EventStore
}

// openEngine returns nil for a replica without an engine.
func openEngine(ctx context.Context, name, url string) (engine, error) {
	switch name {
	case "":
		return nil, nil
	case "Redis":
		return redisstore.Open(ctx, url, nil)
	case "NATS":
		return natsstore.Open(ctx, url, nil)
	case "PostgreSQL":
		return pgstore.Open(ctx, url, nil)
	}
	return nil, fmt.Errorf("engine %q: want Redis, NATS, PostgreSQL or none", name)
}

// cpuTime returns the CPU time of this process in nanoseconds.
func cpuTime() int64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return r.Utime.Nano() + r.Stime.Nano()
}

func memoryInUse() int64 {
	runtime.GC()
	runtime.GC() // which forgets what pools hold
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
