package load

import "testing"

func TestResponseIsCompleteHoweverItIsCut(t *testing.T) {
	tests := map[string]struct{ wire, message string }{
		"length":           {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}", `{"a":1}`},
		"chunks":           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n", `{"a":1}`},
		"event stream":     {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 39\r\n\r\ndata: \n\nevent: message\ndata: {\"a\":1}\n\n ", `{"a":1}`},
		"name in capitals": {"HTTP/1.1 200 OK\r\nCONTENT-LENGTH: 7\r\n\r\n{\"a\":1}", `{"a":1}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var r response
			for i := range test.wire {
				r.room()[0] = test.wire[i]
				r.n++
				body, ok, err := r.complete()
				if err != nil {
					t.Fatal(err)
				}
				if last := i == len(test.wire)-1; ok && string(r.message(body)) != test.message || ok != last && !last {
					t.Fatalf("after %d of %d bytes: complete is %v with %q, want %q at the end", i+1, len(test.wire), ok, body, test.message)
				}
			}
			if r.status != 200 {
				t.Errorf("got status %d, want 200", r.status)
			}
		})
	}
}

func TestResponseThatIsNoHTTPIsRefused(t *testing.T) {
	var r response
	r.n = copy(r.room(), "SSH-2.0-server\r\n\r\n")
	if _, _, err := r.complete(); err == nil {
		t.Error("got no error")
	}
}
