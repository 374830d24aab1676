package demo

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // time zones for machines that have none installed

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type zoned struct {
	Zone string `json:"zone,omitzero" doc:"IANA time zone" default:"UTC" example:"Europe/Rome" maxlen:"64"`
}

type moment struct {
	Time    string `json:"time" format:"date-time"`
	Zone    string `json:"zone"`
	Weekday string `json:"weekday"`
	Unix    int64  `json:"unix" doc:"seconds since 1970"`
}

func now(_ context.Context, in zoned) (moment, error) {
	zone, err := time.LoadLocation(cmp.Or(in.Zone, "UTC"))
	if err != nil {
		return moment{}, fmt.Errorf("zone %q: unknown; want an IANA name such as Europe/Rome", in.Zone)
	}
	t := time.Now().In(zone)
	return moment{t.Format(time.RFC3339), zone.String(), t.Weekday().String(), t.Unix()}, nil
}

const (
	clockURI = "clock://now"
	tick     = 2 * time.Second
)

// addClock registers the clock, a resource that changes every two seconds until stop is
// called.
func addClock(srv *mcpserver.Server) (stop func()) {
	srv.Resource(clockURI, "Clock", "text/plain", func(context.Context) ([]byte, error) {
		return []byte(time.Now().UTC().Format(time.RFC3339)), nil
	}, icon("🕰"), mcpserver.Describe("The time in UTC. Watch it: it is updated every two seconds."))

	ctx, cancel := context.WithCancel(context.Background())
	var ticking sync.WaitGroup
	ticking.Go(func() { runClock(ctx, srv) })
	return func() {
		cancel()
		ticking.Wait()
	}
}

func runClock(ctx context.Context, srv *mcpserver.Server) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			srv.Updated(clockURI)
		case <-ctx.Done():
			return
		}
	}
}
