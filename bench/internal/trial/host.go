package trial

import (
	"encoding/json/v2"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/bench/internal/load"
)

// A host is fondaco up, with a home of its own.
type host struct {
	*server
	home    string
	keys    []string // of what is behind it
	command []string
}

// behind are the servers of a configuration file.
type behind map[string]entry

type entry struct {
	URL     string   `json:"url,omitzero"`
	Command string   `json:"command,omitzero"`
	Args    []string `json:"args,omitempty"`
}

// startHost starts the host and returns when it serves, with all that is behind it.
func startHost(program []string, servers behind) (h *host, err error) {
	home, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(home)
		}
	}()
	config, err := json.Marshal(map[string]behind{"mcpServers": servers})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(home, "mcp.json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return nil, err
	}
	h = &host{home: home, keys: slices.Sorted(maps.Keys(servers))}
	h.command = append(program, "up", "--config", path, "--addr", "127.0.0.1:0", "--yes")
	return h, h.start()
}

func (h *host) start() (err error) {
	h.server, err = start("fondaco", h.command, []string{"HOME=" + h.home, "XDG_STATE_HOME=" + h.home, "XDG_RUNTIME_DIR=" + h.home})
	return err
}

// restart starts the host again, which now has its servers approved.
func (h *host) restart() error {
	h.interrupt()
	return h.start()
}

// interrupt lets the host end its servers.
func (h *host) interrupt() {
	late := time.AfterFunc(10*time.Second, func() { h.cmd.Process.Kill() })
	defer late.Stop()
	h.cmd.Process.Signal(syscall.SIGINT)
	h.cmd.Wait()
}

func (h *host) end() {
	h.interrupt()
	os.RemoveAll(h.home)
}

// asked are p for the servers behind the host.
func (h *host) asked(p load.Params) load.Params {
	p = h.server.asked(p)
	p.Upstreams = h.keys
	return p
}
