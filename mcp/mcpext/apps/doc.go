// Package apps implements MCP Apps, the extension io.modelcontextprotocol/ui:
// tools with a user interface. A server offers HTML documents under ui:// URIs
// and links tools to them; a host shows the document beside the result of the
// call.
//
// A server declares what its document needs, and links it by one option:
//
//	ui := apps.Enable(srv, nil)
//	ui.Resource("ui://weather/map", "map", html, apps.ResourceMeta{
//		CSP: &apps.CSP{ResourceDomains: []string{"https://tiles.example.com"}},
//	})
//	srv.Tool("weather", "Tells the weather", weather, ui.Show("ui://weather/map"))
//
// Clients without apps use the tool as any other, so its content must make
// sense without the interface. Supported reports to a handler whether the client
// shows the document.
//
// A host declares that it shows documents, and asks per server what there is:
//
//	c, err := mcpclient.Connect(ctx, target, &mcpclient.Options{
//		Extensions: []mcpclient.Extension{apps.Client()},
//	})
//	ui, err := apps.Load(ctx, c, nil)
//	view, err := ui.View(ctx, "weather")
//
// A view has the content security policy with which a browser must show it,
// which allows nothing that the server did not declare. The host must provide
// the sandbox, and the messages between itself and the document.
//
// Spec: ext-apps 2026-01-26
package apps
