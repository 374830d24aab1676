package cli

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var watchEntry = commandInfo{
	name: "watch", operands: "[URI...]", does: "print changes as they happen, until Ctrl-C",
	about: `It prints a line when a resource is updated or a list has changed. Without a
URI it watches all listed resources. With --json each event is an object on one
line.`,
	example: "watch clock://now",
	make:    func() command { return new(watchCommand) },
}

type watchCommand struct {
	serverFlags
	all   bool                               // every listed resource
	again atomic.Pointer[context.CancelFunc] // cancels the current watch so that it restarts
}

// event is what watch prints.
type event struct {
	Format int       `json:"format"`
	Time   time.Time `json:"time"`
	Event  string    `json:"event"` // updated or changed
	URI    string    `json:"uri,omitzero"`
	List   string    `json:"list,omitzero"`
}

func (v *watchCommand) run(ctx context.Context, m *Main, operands []string) error {
	v.all = len(operands) == 0
	p, err := v.connect(ctx, m, "", v.handlers(m))
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := v.watch(ctx, p.Client, m, operands); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// watch keeps a subscription until ctx ends or the list of resources changes. The
// handlers print the events.
func (v *watchCommand) watch(ctx context.Context, c *mcpclient.Client, m *Main, uris []string) (err error) {
	watching, again := context.WithCancel(ctx)
	defer again()
	v.again.Store(&again) // before the list is read, so that no change is missed
	if v.all {
		if uris, err = listed(ctx, c); err != nil {
			return err
		}
	}
	noun := "resources"
	if len(uris) == 1 {
		noun = "resource"
	}
	m.Info("watching %d %s and the lists; Ctrl-C ends it", len(uris), noun)
	for _, err := range c.Watch(watching, uris...) {
		if err != nil {
			return err
		}
	}
	<-watching.Done() // without resources, wait for changes of the lists
	return nil
}

// handlers print notifications. They run one after the other.
func (v *watchCommand) handlers(m *Main) *mcpclient.Options {
	changed := func(list string) func(context.Context, *mcpclient.Client) {
		return func(context.Context, *mcpclient.Client) {
			v.print(m, event{Event: "changed", List: list})
			if again := v.again.Load(); again != nil && v.all && list == "resources" {
				(*again)()
			}
		}
	}
	return &mcpclient.Options{
		OnToolsChanged:     changed("tools"),
		OnPromptsChanged:   changed("prompts"),
		OnResourcesChanged: changed("resources"),
		OnResourceUpdated: func(_ context.Context, _ *mcpclient.Client, uri string) {
			v.print(m, event{Event: "updated", URI: uri})
		},
		OnEvent: func(_ context.Context, e mcpclient.Event) {
			switch e.Kind {
			case mcpclient.EventLost:
				m.Message("connection lost: %s", terminal.CleanLine(fmt.Sprint(e.Err)))
			case mcpclient.EventReinitialised:
				m.Info("reconnected")
			}
		},
	}
}

func (v *watchCommand) print(m *Main, e event) {
	e.Format, e.Time = terminal.Format, time.Now()
	if v.json {
		_ = m.WriteJSONLine(e)
		return
	}
	_ = m.WriteLine("%s  %s  %s%s", e.Time.Format(time.TimeOnly), e.Event, e.URI, e.List)
}

// maxWatched limits the resources that are watched by default.
const maxWatched = 1000

// listed returns the resources to watch by default.
func listed(ctx context.Context, c *mcpclient.Client) (uris []string, err error) {
	if caps := c.Capabilities().Resources; caps == nil || !caps.Subscribe {
		return nil, nil
	}
	for r, err := range c.Resources(ctx) {
		if err != nil || len(uris) == maxWatched {
			return uris, err
		}
		uris = append(uris, r.URI)
	}
	return uris, nil
}
