// Package apps lets tools show an interface: MCP Apps, the extension
// io.modelcontextprotocol/ui. A server offers HTML documents under ui:// URIs and
// links tools to them; a host shows the document beside the result of the call.
//
// A server declares what its document needs, and links it by one option:
//
//	ui := apps.Enable(srv, nil)
//	ui.Resource("ui://weather/map", "map", html, apps.ResourceMeta{
//		CSP: &apps.CSP{ResourceDomains: []string{"https://tiles.example.com"}},
//	})
//	srv.Tool("weather", "Tells the weather", weather, ui.Show("ui://weather/map"))
//
// The tool stays what it is for everybody else, so its content has to make sense
// without the interface. Shown tells a handler whether there is one.
//
// A host declares that it shows documents, and asks per server what there is:
//
//	c, err := mcpclient.Connect(ctx, target, &mcpclient.Options{
//		Extensions: []mcpclient.Extension{apps.Client()},
//	})
//	ui, err := apps.Of(ctx, c, nil)
//	view, err := ui.View(ctx, "weather")
//
// A view comes with the policy under which a browser has to show it, which allows
// nothing that the server did not declare. The sandbox, and the messages between
// the host and the document in it, are the host's.
//
// Spec: ext-apps 2026-01-26
package apps
