package mcpserver_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A handler that is called without a server has no Request, and uses its methods.
func TestMethodsOfANilRequestAreSafe(t *testing.T) {
	r := mcpserver.From(t.Context())
	if r.Method() != "" || r.Params() != nil || r.Outbound() {
		t.Errorf("got %q, %s, %v, want nothing", r.Method(), r.Params(), r.Outbound())
	}
	v := reflect.ValueOf(r)
	for method, f := range v.Methods() {
		t.Run(method.Name, func(t *testing.T) {
			args := make([]reflect.Value, 0, f.Type().NumIn())
			for in := range f.Type().Ins() {
				switch {
				case in == reflect.TypeFor[context.Context]():
					args = append(args, reflect.ValueOf(t.Context()))
				case in == reflect.TypeFor[error]():
					args = append(args, reflect.ValueOf(errors.New("private")))
				default:
					args = append(args, reflect.Zero(in))
				}
			}
			if f.Type().IsVariadic() {
				f.CallSlice(args)
				return
			}
			f.Call(args)
		})
	}
	if got := r.PublicError(t.Context(), errors.New("private")); mcp.CodeOf(got) != mcp.CodeInternal || got.Message != "internal error" {
		t.Errorf("got %v, want an internal error without the reason", got)
	}
}
