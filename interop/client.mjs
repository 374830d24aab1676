// A client of the TypeScript SDKs that does what a plan says and prints what came of it, as one JSON object.
//
//   node client.mjs SDK TARGET PLAN
//
// SDK:    2 (the newest, both eras) | 2-legacy | 2-modern | 1 (the session era alone)
// TARGET: http://…  |  sse+http://…  |  stdio:COMMAND ARGS…
// PLAN:   {"call": {name, arguments}, "read": uri, "get": {name, arguments}, "complete": {ref, argument},
//          "progress": {name, arguments}, "cancel": {name, arguments}, "changed": {name, arguments},
//          "updated": {uri, name, arguments}, "asked": {name, arguments}}
const [sdk, target, planText] = process.argv.slice(2);
const plan = JSON.parse(planText);
const modern = sdk !== '1';

async function load() {
  if (modern) {
    const { Client, StreamableHTTPClientTransport, SSEClientTransport } = await import('@modelcontextprotocol/client');
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
    return { Client, StreamableHTTPClientTransport, SSEClientTransport, StdioClientTransport };
  }
  const [{ Client }, { StreamableHTTPClientTransport }, { SSEClientTransport }, { StdioClientTransport }, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    import('@modelcontextprotocol/sdk/client/sse.js'),
    import('@modelcontextprotocol/sdk/client/stdio.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  return { Client, StreamableHTTPClientTransport, SSEClientTransport, StdioClientTransport, types };
}

const lib = await load();

function transport() {
  if (target.startsWith('stdio:')) {
    const [command, ...args] = target.slice('stdio:'.length).split(' ');
    return new lib.StdioClientTransport({ command, args, env: { ...process.env }, stderr: 'inherit' });
  }
  if (target.startsWith('sse+')) return new lib.SSEClientTransport(new URL(target.slice(4)));
  return new lib.StreamableHTTPClientTransport(new URL(target));
}

const options = { capabilities: { elicitation: {}, roots: {}, sampling: {} } };
if (modern) {
  const mode = { 2: 'auto', '2-legacy': 'legacy', '2-modern': { pin: '2026-07-28' } }[sdk];
  options.versionNegotiation = { mode };
}
const client = new lib.Client({ name: 'interop', version: '1' }, options);

const heard = [];
let wake = () => {};
client.fallbackNotificationHandler = async n => { heard.push(n); wake(); };
const answer = async () => ({ action: 'accept', content: { name: 'Ada' } });
if (modern) client.setRequestHandler('elicitation/create', answer);
else client.setRequestHandler(lib.types.ElicitRequestSchema, answer);

// hear waits for a notification that fits.
async function hear(fits) {
  const until = Date.now() + 5000;
  while (!heard.some(fits)) {
    if (Date.now() > until) throw new Error('no such notification came; heard ' + JSON.stringify(heard.map(n => n.method)));
    await new Promise(r => { wake = r; setTimeout(r, 50); });
  }
}

const callTool = (params, o = {}) => (modern ? client.callTool(params, o) : client.callTool(params, undefined, o));
const text = r => (r.content ?? []).map(c => c.text ?? c.type).join('|');

const steps = {
  call: async p => { const r = await callTool(p); return { text: text(r), structured: r.structuredContent, isError: r.isError === true }; },
  read: async uri => (await client.readResource({ uri })).contents[0].text,
  get: async p => (await client.getPrompt(p)).messages.map(m => m.content.text).join('|'),
  complete: async p => (await client.complete(p)).completion.values,
  progress: async p => {
    const seen = [];
    const r = await callTool(p, { onprogress: n => seen.push(n.progress) });
    return { text: text(r), seen };
  },
  cancel: async p => {
    const stop = new AbortController();
    setTimeout(() => stop.abort('enough'), 200);
    try { await callTool(p, { signal: stop.signal }); return 'answered'; } catch { return 'cancelled'; }
  },
  changed: async p => {
    await listen({ toolsListChanged: true });
    await callTool(p);
    await hear(n => n.method === 'notifications/tools/list_changed');
    return (await client.listTools()).tools.some(t => t.name.endsWith(p.arguments.name));
  },
  updated: async p => {
    if (stateless()) await listen({ resourceSubscriptions: [p.uri] });
    else await client.subscribeResource({ uri: p.uri });
    await callTool({ name: p.name, arguments: p.arguments });
    await hear(n => n.method === 'notifications/resources/updated' && n.params.uri === p.uri);
    return true;
  },
  asked: async p => text(await callTool(p)),
};

const version = () => (modern ? client.getNegotiatedProtocolVersion() : undefined);
const stateless = () => version() === '2026-07-28';
async function listen(filter) {
  if (stateless()) await client.listen(filter);
  else await new Promise(r => setTimeout(r, 200)); // the standalone stream opens beside
}

const out = { steps: {} };
try {
  await client.connect(transport());
  out.version = version();
  out.tools = (await client.listTools()).tools.map(t => t.name);
  out.resources = (await client.listResources()).resources.map(r => r.uri);
  out.templates = (await client.listResourceTemplates()).resourceTemplates.map(t => t.uriTemplate);
  out.prompts = (await client.listPrompts()).prompts.map(p => p.name);
  for (const [name, params] of Object.entries(plan)) {
    try { out.steps[name] = await steps[name](params); } catch (e) { out.steps[name] = { error: String(e?.message ?? e) }; }
  }
  await client.close();
} catch (e) {
  out.error = String(e?.stack ?? e);
}
console.log(JSON.stringify(out));
process.exit(0);
