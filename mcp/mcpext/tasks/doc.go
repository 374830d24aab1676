// Package tasks runs requests in the background while their senders poll. It implements
// the extension io.modelcontextprotocol/tasks and the experimental tasks in the core of
// 2025-11-25, with one model: handlers need not distinguish them.
//
// A server enables tasks once and marks the tools that become one:
//
//	work := tasks.Enable(srv, nil)
//	srv.Tool("report", "Makes the yearly report", report, work.AsTask())
//
// The handler is an ordinary function. Its context ends with the task instead of the
// request. mcpserver.Progress and Status report its progress, and mcpserver.Ask waits in
// the task for the answer. A client that did not declare tasks gets the result of the
// call itself, unless the tool has the mode Required.
//
// A client declares tasks with an extension and calls tools as usual:
//
//	c, err := mcpclient.Connect(ctx, target, &mcpclient.Options{
//		Extensions: []mcpclient.Extension{tasks.Client(nil)},
//	})
//	text, err := c.Call[string](ctx, "report", Year{2025})
//
// If the server answers with a task, the call polls until the task ends, and the handlers
// in the client's options answer the questions of the task. Call returns a Handle
// instead; Resume makes a Handle of a stored task id.
//
// Tasks are stored in the server's Store. The handler runs in one process, which renews a
// lease in the Store. If the process ends, the task becomes failed. Any replica accepts
// answers and cancellations.
//
// Spec: ext-tasks draft; 2025-11-25 basic/utilities/tasks
package tasks
