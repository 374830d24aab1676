package testengine_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/testengine"
)

func TestRedisKeepsItsDataWhenItIsKilled(t *testing.T) {
	t.Parallel()
	s := testengine.Redis(t)
	if got := askRedis(t, s, "SET a 1"); got != "+OK" {
		t.Fatalf("SET: got %q", got)
	}
	s.Kill()
	s.Start()
	if got := askRedis(t, s, "EXISTS a"); got != ":1" {
		t.Errorf("after a crash: got %q, want the key", got)
	}
}

// askRedis returns the first line of the answer to a command.
func askRedis(t *testing.T, s *testengine.Server, command string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "redis://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s\r\n", command)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}
