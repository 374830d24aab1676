package processmemory

import (
	"os"
	"runtime"
	"testing"
)

func TestMemoryOfAProcessHasThatOfItsChildren(t *testing.T) {
	t.Parallel()
	m := &Memory{resident: map[int]int64{1: 10, 2: 20, 3: 30, 4: 40}, children: map[int][]int{1: {2, 3}, 3: {4}, 4: {1}}}
	if got := m.Of(2); got != 20 {
		t.Errorf("got %d, want its own", got)
	}
	if got := m.Of(1); got != 100 {
		t.Errorf("got %d, want those of all, each once", got)
	}
	if got := new(Reader).Read().Of(os.Getpid()); got <= 0 && runtime.GOOS == "linux" {
		t.Errorf("got %d, want the memory of this process", got)
	}
}
