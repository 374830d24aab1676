package main

import (
	"net/http"
	"testing"

	"github.com/fondaco/fondaco/bench/internal/micro"
)

func handler(tools int) http.Handler { return newServer(tools, 0, "json").HTTPHandler() }

func BenchmarkHandler(b *testing.B)  { micro.Handler(b, "fondaco", handler) }
func BenchmarkLoopback(b *testing.B) { micro.Loopback(b, "fondaco", handler) }

func BenchmarkRegister1000(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newServer(1000, 0, "json")
	}
}
