package mcpserver_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestLoggerNamesTheCall(t *testing.T) {
	const trace = "0af7651916cd43dd8448eb211c80319c"
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		logged := new(logbook)
		srv := newServer(&mcpserver.Options{Logger: textLog(logged)})
		srv.Tool("cancel", "", func(ctx context.Context, _ struct{}) (string, error) {
			mcpserver.Logger(ctx).Info("cancelled", "flight", "AZ612")
			return "", nil
		})
		srv.AddResource(mcp.Resource{URI: "notes://a", Name: "a"}, func(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
			mcpserver.Logger(ctx).Info("read")
			return readURI(ctx, p)
		})
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				mcpserver.Logger(ctx).Debug("middleware")
				return next(ctx, r)
			}
		})
		w := dial(t, srv, r)
		for _, test := range []struct{ method, params, want string }{
			{"tools/call", fmt.Sprintf(`{"_meta":{"traceparent":"00-%s-b7ad6b7169203331-01"},"name":"cancel"}`, trace), `msg=cancelled method=tools/call name=cancel principal=local trace=` + trace + ` flight=AZ612`},
			{"tools/call", `{"_meta":{"traceparent":"00-1"},"name":"cancel"}`, `msg=cancelled method=tools/call name=cancel principal=local flight=AZ612`},
			{"resources/read", `{"uri":"notes://a"}`, `msg=read method=resources/read name=notes://a principal=local`},
			{"tools/list", "", `msg=middleware method=tools/list principal=local`},
		} {
			logged.Reset()
			w.Must(test.method, test.params)
			if !strings.Contains(logged.String(), test.want+"\n") {
				t.Errorf("%s %s: got log\n%s\nwant %s", test.method, test.params, logged, test.want)
			}
		}
		if len(w.Held) > 0 {
			t.Errorf("the client got %d messages, want none", len(w.Held))
		}
	})
}

func TestLoggerOutsideOfACallIsTheDefault(t *testing.T) {
	t.Parallel()
	if got := mcpserver.Logger(context.Background()); got != slog.Default() {
		t.Errorf("got %v, want slog.Default()", got)
	}
}
