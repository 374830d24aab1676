//go:build load

package jsonrpc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

func TestLoadRepairIsLinear(t *testing.T) {
	const n = 10_000
	limits := jsonrpc.Limits{Elements: 10 * n}
	began := time.Now()
	defer func() { // takes about 50 ms; what is quadratic in 10n takes much longer
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %v for texts of %d bytes", took, 10*n)
		}
	}()
	for name, text := range map[string]string{
		"members twice":     `{"jsonrpc":"2.0","id":1,"result":{` + strings.Repeat(`"a":1,`, n) + `"a":2}}`,
		"different members": `{"jsonrpc":"2.0","id":1,"result":[` + strings.Repeat(`{"a":1,"b":2,"a":3},`, n) + `"\ud800"]}`,
		"strings":           `{"jsonrpc":"2.0","id":1,"result":[` + strings.Repeat(`"\ud800",`, n) + `1]}`,
		"one long string":   `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("\xff", 10*n) + `"}`,
		"backslashes":       `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat(`\\`, 10*n) + `\ud800"}`,
	} {
		if _, err := jsonrpc.Decode([]byte(text), limits); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range map[string]string{
		"quotes":      `{"a":NaN` + strings.Repeat(`"`, 10*n),
		"escapes":     `{"a":NaN,"` + strings.Repeat(`\"`, 10*n),
		"backslashes": strings.Repeat(`\`, 10*n) + `"}`,
		"names":       `{"a":NaN` + strings.Repeat(`,"id":`, n),
		"objects":     strings.Repeat(`{}`, 10*n),
	} {
		_ = mustRefuse(t, text, limits)
		jsonrpc.Incomplete("too long", []byte(text), []byte(text))
	}
}
