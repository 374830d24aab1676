package mcpserver_test

import (
	"os"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestMain(m *testing.M) {
	switch os.Getenv(mainEnv) {
	case "":
	case "long grace":
		mcpserver.SetEOFGrace(time.Hour)
		mcpserver.Main(lastCalls())
		return
	case "short grace":
		mcpserver.SetEOFGrace(time.Millisecond)
		mcpserver.Main(lastCalls())
		return
	case "interrupted":
		interruptTwice()
		return
	default:
		mcpserver.Main(chatty())
		return
	}
	leak.Main(m)
}

// interruptTwice interrupts this process, and once more as soon as the shutdown begins.
func interruptTwice() {
	ctx, stop := mcpserver.NotifyContext()
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return
	}
	_ = self.Signal(os.Interrupt)
	<-ctx.Done()
	_ = self.Signal(os.Interrupt)
	time.Sleep(time.Minute)
}
