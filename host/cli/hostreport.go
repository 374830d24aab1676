package cli

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
)

// hostReport is what a report has of a running host.
type hostReport struct {
	Version    string            `json:"version"`
	PID        int               `json:"pid"`
	Started    time.Time         `json:"started"`
	Goroutines int               `json:"goroutines"`
	Heap       uint64            `json:"heapBytes"`
	Servers    []reportedServer  `json:"servers"`
	Limits     []reachedLimit    `json:"limitsReached"`
	Messages   []traffic.Message `json:"messages"`
}

// reportedServer is the state of an upstream, without texts that it has written for others.
type reportedServer struct {
	Key          string       `json:"key"`
	Transport    string       `json:"reached"`
	State        host.State   `json:"state"`
	Reason       string       `json:"reason,omitzero"`
	Retry        time.Time    `json:"retry,omitzero"`
	Revision     mcp.Revision `json:"revision,omitzero"`
	Tools        int          `json:"tools"`
	Resources    int          `json:"resources"`
	Prompts      int          `json:"prompts"`
	Callers      int          `json:"callers"`
	Processes    int          `json:"processes"`
	Omitted      int          `json:"omitted"`
	Waiting      int          `json:"waiting"`
	SessionsLost int          `json:"sessionsLost"`
}

// report returns what a report has of this host. Only the host knows the values of references, so it hides
// them itself.
func (h *hostProcess) report() hostReport {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	r := hostReport{
		Version: host.Version, PID: os.Getpid(), Started: h.startedAt.UTC(), Goroutines: runtime.NumGoroutine(), Heap: memory.HeapAlloc,
		Servers: []reportedServer{}, Limits: h.limits.all(), Messages: reportedMessages(h.traffic.Messages()),
	}
	for _, s := range h.statuses() {
		r.Servers = append(r.Servers, reportedServer{
			Key: s.Key, Transport: s.Transport, State: s.State, Reason: h.main.secrets.redactAll(s.Reason), Retry: s.Retry, Revision: s.Revision,
			Tools: s.Tools, Resources: s.Resources + s.Templates, Prompts: s.Prompts, Callers: s.Callers, Processes: s.Processes,
			Omitted: len(s.Omitted), Waiting: s.WaitingCount, SessionsLost: s.SessionsLost,
		})
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		m.Method, m.Name, m.Client = h.main.secrets.redactAll(m.Method), h.main.secrets.redactAll(m.Name), h.main.secrets.redactAll(m.Client)
	}
	return r
}

// reportedMessages returns messages without what names a person, and without what a peer can write anything into:
// principals have numbers, and ids that are no numbers and names that have other characters than those of tools are
// replaced by their length.
func reportedMessages(messages []traffic.Message) []traffic.Message {
	people := make(map[string]string)
	for i := range messages {
		m := &messages[i]
		switch m.Principal {
		case "", mcp.PrincipalLocal.String(), mcp.PrincipalAnonymous.String():
		default:
			if people[m.Principal] == "" {
				people[m.Principal] = fmt.Sprintf("principal %d", len(people)+1)
			}
			m.Principal = people[m.Principal]
		}
		if !numericID.MatchString(m.ID) {
			m.ID = length(m.ID)
		}
		for _, text := range []*string{&m.Method, &m.Name, &m.Client} {
			if !plainName.MatchString(*text) {
				*text = length(*text)
			}
		}
	}
	return messages
}

var (
	numericID = regexp.MustCompile(`^(\d{1,20})?$`)
	plainName = regexp.MustCompile(`^[a-zA-Z0-9 $_./-]{0,128}$`)
)

// length describes a text that is not in a report.
func length(text string) string { return fmt.Sprintf("[%d bytes]", len(text)) }
