package interop_test

import (
	"regexp"

	"github.com/fondaco/fondaco/mcp"
)

type args = map[string]any

// Files of package @modelcontextprotocol/server-everything.
const everythingModule = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"

// replicaPlan uses the features of the fixture that need nothing which a session keeps in memory.
func replicaPlan() plan {
	return plan{
		list("add", "echo", "note://hello", "note://by/{name}", "greet"),
		call("echo", args{"text": "caffè"}, answer{Text: "caffè"}),
		call("fail", nil, answer{"it did not work", true}),
		structured("add", args{"a": 1, "b": 2}, args{"sum": 3}),
		read("note://hello", "hello"),
		read("note://by/Ada", "a note by Ada"),
		get("greet", args{"name": "Bo"}, "Greet Bo"),
		complete(mcp.PromptRef("greet"), "name", "a", "Ada", "Alan"),
		complete(mcp.ResourceRef("note://by/{name}"), "name", "g", "Grace"),
		progress("steps", args{"n": 3}, advance{"done", []float64{1, 2, 3}}),
	}
}

// sharedPlan also uses what replicas keep in a Store and send over a Bus.
func sharedPlan() plan {
	return append(
		replicaPlan(),
		updated("touch", nil, "note://counter"),
		logged("log", args{"text": "a word"}, "a word"),
		asked("ask", "Hello, Ada"),
	)
}

// fixturePlan uses every feature of the fixture. It makes the fixture register a tool with
// the name grown.
func fixturePlan(grown string) plan {
	return append(
		replicaPlan(),
		cancel("wait", nil),
		changed("grow", args{"name": grown}, "tools", grown),
		call(grown, nil, answer{Text: "I am " + grown}),
		updated("touch", nil, "note://counter"),
		logged("log", args{"text": "a word"}, "a word"),
		asked("ask", "Hello, Ada"),
	)
}

// typescriptPlan is fixturePlan for server.mjs. It also checks that the server received the
// cancellation.
func typescriptPlan(grown string) plan {
	return append(fixturePlan(grown), waits)
}

// waits calls a tool that returns how many cancelled calls go on.
var waits = call("waits", nil, answer{Text: "0"})

// tripPlan uses trip.mjs: the user is asked twice and the model once, in one call.
func tripPlan(string) plan { return plan{asked("trip", "Ada and Ada: an ode, 1 run")} }

// everythingPlan uses the server "everything". It makes the server add a resource with the
// name added.
func everythingPlan(added string) plan {
	document := "demo://resource/static/document/features.md"
	template := "demo://resource/dynamic/text/{resourceId}"
	uri := "demo://resource/session/" + added
	return plan{
		list("echo", "get-sum", document, template, "completable-prompt"),
		call("echo", args{"message": "caffè"}, answer{Text: "Echo: caffè"}),
		structured("get-structured-content", args{"location": "Chicago"},
			args{"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}),
		read(document, regexp.MustCompile(`^# Everything Server`)),
		read("demo://resource/dynamic/text/7", regexp.MustCompile("^Resource 7: ")),
		get("args-prompt", args{"city": "Bari", "state": "Puglia"}, "What's weather in Bari, Puglia?"),
		complete(mcp.PromptRef("completable-prompt"), "department", "S", "Sales", "Support"),
		complete(mcp.ResourceRef(template), "resourceId", "7", "7"),
		progress("trigger-long-running-operation", args{"duration": 0.3, "steps": 3},
			advance{"Long running operation completed. Duration: 0.3 seconds, Steps: 3.", []float64{1, 2, 3}}),
		cancel("trigger-long-running-operation", args{"duration": 60, "steps": 1}),
		changed("gzip-file-as-resource", args{"name": added, "data": "data:text/plain,hello"}, "resources", uri),
		read(uri, regexp.MustCompile("^H4sI")), // the magic number of gzip in base64
		logged("toggle-simulated-logging", nil, regexp.MustCompile("[- ]level[- ]message")),
		updated("toggle-subscriber-updates", nil, uri),
		call("toggle-subscriber-updates", nil, regexp.MustCompile("Stopped simulated resource updates")),
		asked("trigger-elicitation-request", regexp.MustCompile("- Name: Ada")),
	}
}

// demoPlan uses the demonstration server. It makes the server write a note with the title.
func demoPlan(title string) plan {
	note := "notes://" + title
	return plan{
		list("time", "convert", "clock://now", "notes://{title}", "summarize"),
		call("digest", args{"text": "", "algorithm": "sha1"}, answer{Text: "da39a3ee5e6b4b0d3255bfef95601890afd80709"}),
		call("calculate", args{"expression": "1/0"}, answer{`expression "1/0": division by zero`, true}),
		structured("convert", args{"value": 1, "from": "km", "to": "m"}, args{"value": 1000, "unit": "m"}),
		read("notes://welcome", regexp.MustCompile("^# Welcome")),
		get("review", args{"code": "x++", "language": "C"}, regexp.MustCompile("^Review this C code")),
		complete(mcp.PromptRef("summarize"), "style", "b", "bullet points"),
		complete(mcp.ResourceRef("notes://{title}"), "title", "wel", "welcome"),
		progress("countdown", args{"seconds": 1}, advance{"Counted down 1 seconds.", []float64{0, 1}}),
		cancel("countdown", args{"seconds": 60}),
		changed("write_note", args{"title": title, "body": "first"}, "resources", note),
		updated("write_note", args{"title": title, "body": "second"}, note),
		read(note, "second"),
	}
}

// allAtOncePlan uses every server while other clients do the same. Arguments contain the
// name of the client where the results repeat them.
func allAtOncePlan(c caller) (p plan) {
	for _, key := range []string{"everything", "everything-sse", "everything-http"} {
		p = append(p, plan{
			list("echo", "completable-prompt"),
			call("echo", args{"message": c.String()}, answer{Text: "Echo: " + c.String()}),
			progress("trigger-long-running-operation", args{"duration": 0.3, "steps": 3},
				advance{"Long running operation completed. Duration: 0.3 seconds, Steps: 3.", []float64{1, 2, 3}}),
			cancel("trigger-long-running-operation", args{"duration": 60, "steps": 1}),
			get("args-prompt", args{"city": c.String()}, "What's weather in "+c.String()+"?"),
		}.behind(key)...)
	}
	p = append(p, plan{
		list("echo", "note://hello", "greet"),
		call("echo", args{"text": c.String()}, answer{Text: c.String()}),
		progress("steps", args{"n": 3}, advance{"done", []float64{1, 2, 3}}),
		cancel("wait", nil),
		read("note://by/Ada", "a note by Ada"),
		get("greet", args{"name": c.String()}, "Greet "+c.String()),
	}.behind("typescript")...)
	return append(p, plan{
		list("time", "clock://now", "summarize"),
		call("calculate", args{"expression": "1/0"}, answer{`expression "1/0": division by zero`, true}),
		progress("countdown", args{"seconds": 1}, advance{"Counted down 1 seconds.", []float64{0, 1}}),
		cancel("countdown", args{"seconds": 60}),
		read("notes://welcome", regexp.MustCompile("^# Welcome")),
	}.behind("ours")...)
}
