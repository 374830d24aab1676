// Package tasks lets requests go on while their senders poll: the extension
// io.modelcontextprotocol/tasks, and with it the experimental tasks that
// 2025-11-25 has in its core. Both are one model here; a handler does not see
// which it is.
//
// A server enables tasks once and marks the tools that become one:
//
//	work := tasks.Enable(srv, nil)
//	srv.Tool("report", "Makes the yearly report", report, work.AsTask())
//
// The handler stays an ordinary function. Its context lives as long as the task
// and not as long as the request. mcpserver.Progress and Status tell how far it
// is, and mcpserver.Ask waits in the task for the answer. A client that did not
// declare tasks gets the result of the call itself, unless the tool says Required.
//
// A client declares tasks by an extension, and calls tools as ever:
//
//	c, err := mcpclient.Connect(ctx, target, &mcpclient.Options{
//		Extensions: []mcpclient.Extension{tasks.Client(nil)},
//	})
//	text, err := c.Call[string](ctx, "report", Year{2025})
//
// When the server answers with a task the call polls to its end, and questions
// of the task go to the handlers of the client's options. Call returns a Handle
// instead, which can be kept and resumed by its id.
//
// Tasks are kept in the server's Store. The work itself stays in its process: a
// lease in the store tells that it lives, and a task whose process has ended
// becomes failed. Answers and cancellations may come to any replica.
//
// Spec: ext-tasks draft; 2025-11-25 basic/utilities/tasks
package tasks
