// A client of the TypeScript SDKs that takes the steps of a plan and prints what came of each, as one JSON object.
//
//   node client.mjs SDK TARGET PLAN
//
// SDK:    2 (the newest, both eras) | 2-legacy | 2-modern | 1 (the session era alone) | 1.0 | 1.10 | 1.20 (old ones)
// TARGET: http://…  |  sse+http://…  |  stdio:COMMAND ARGS…
// PLAN:   a list of steps, see step_test.go, or "loop" for the calls that come on standard input, see loop.mjs
import { answerTo, loop } from './loop.mjs';

const [sdk, target, planText] = process.argv.slice(2);
const newest = sdk.startsWith('2');

async function load() {
  if (newest) return { ...await import('@modelcontextprotocol/client'), ...await import('@modelcontextprotocol/client/stdio') };
  const from = sdk === '1' ? '@modelcontextprotocol/sdk/' : `sdk-${sdk}/`;
  if (sdk === '1.0') globalThis.EventSource = (await import('eventsource')).EventSource; // which Node lacks
  const parts = ['client/index.js', 'client/sse.js', 'client/stdio.js', 'types.js', ...sdk === '1.0' ? [] : ['client/streamableHttp.js']];
  return Object.assign({}, ...await Promise.all(parts.map(part => import(from + part))));
}

const lib = await load();

function transport() {
  if (target.startsWith('stdio:')) {
    const [command, ...args] = target.slice('stdio:'.length).split(' ');
    return new lib.StdioClientTransport({ command, args, env: { ...process.env }, stderr: 'inherit' });
  }
  if (target.startsWith('sse+')) return new lib.SSEClientTransport(new URL(target.slice('sse+'.length)));
  return new lib.StreamableHTTPClientTransport(new URL(target));
}

const options = { capabilities: { elicitation: {}, sampling: {} } };
if (newest) options.versionNegotiation = { mode: { 2: 'auto', '2-legacy': 'legacy', '2-modern': { pin: '2026-07-28' } }[sdk] };
const client = new lib.Client({ name: 'interop', version: '1' }, options);

const heard = [];
let wake = () => {};
client.fallbackNotificationHandler = async n => { heard.push(n); wake(); };
const elicitation = newest ? 'elicitation/create' : lib.ElicitRequestSchema; // 1.10 has none yet
if (elicitation) client.setRequestHandler(elicitation, async r => ({ action: 'accept', content: answerTo(r.params.message) }));
client.setRequestHandler(newest ? 'sampling/createMessage' : lib.CreateMessageRequestSchema,
  async () => ({ role: 'assistant', model: 'none', content: { type: 'text', text: 'an ode' } }));

// hear waits for a notification that fits and came after the first ones.
async function hear(step, first, fits) {
  const until = Date.now() + (step.lacking ? 250 : 5000);
  for (;;) {
    const found = heard.slice(first).find(fits);
    if (found) return found;
    if (Date.now() > until) throw new Error('no such notification came; heard ' + JSON.stringify(heard.slice(first).map(n => n.method)));
    await new Promise(done => { wake = done; setTimeout(done, 50); });
  }
}

const stateless = () => newest && client.getNegotiatedProtocolVersion() === '2026-07-28';

// listen asks for notifications of changes. In the session era they come anyway, on a stream that opens beside.
async function listen(filter) {
  if (stateless()) await client.listen(filter);
  else await new Promise(done => setTimeout(done, 200));
}

const callTool = ({ name, arguments: args }, o = {}, _meta) => {
  const params = { name, arguments: args ?? {}, ..._meta && { _meta } };
  return newest ? client.callTool(params, o) : client.callTool(params, undefined, o);
};
const text = r => r.content.map(c => c.text ?? c.type).join('|');

const lists = {
  tools: async () => (await client.listTools()).tools.map(t => t.name),
  resources: async () => (await client.listResources()).resources.map(r => r.uri),
  templates: async () => (await client.listResourceTemplates()).resourceTemplates.map(t => t.uriTemplate),
  prompts: async () => (await client.listPrompts()).prompts.map(p => p.name),
};

const features = {
  list: async step => {
    const listed = (await Promise.all(Object.values(lists).map(list => list()))).flat();
    return step.names.filter(name => !listed.includes(name));
  },
  call: async step => { const r = await callTool(step); return { text: text(r), isError: r.isError === true }; },
  structured: async step => (await callTool(step)).structuredContent,
  read: async step => { const [c] = (await client.readResource({ uri: step.uri })).contents; return c.text ?? c.blob; },
  get: async step => (await client.getPrompt({ name: step.name, arguments: step.arguments })).messages.map(m => m.content.text).join('|'),
  complete: async step => (await client.complete({ ref: step.ref, argument: step.argument })).completion.values,
  progress: async step => {
    const seen = [];
    client.onerror = e => { // the SDK drops what it reads together with the answer, and says so
      const dropped = /progress notification for an unknown token: (.*)/.exec(e.message);
      if (dropped) seen.push(JSON.parse(dropped[1]).params.progress);
    };
    const r = await callTool(step, { onprogress: n => seen.push(n.progress) });
    await new Promise(setImmediate);
    return { text: text(r), seen };
  },
  cancel: async step => {
    const stop = new AbortController();
    setTimeout(() => stop.abort('enough'), 200);
    try { await callTool(step, { signal: stop.signal }); return 'answered'; } catch { return 'cancelled'; }
  },
  changed: async step => {
    await listen({ toolsListChanged: true, resourcesListChanged: true });
    let before = heard.length;
    await callTool(step);
    for (;;) {
      await hear(step, before, n => n.method === `notifications/${step.kind}/list_changed`);
      before = heard.length;
      if ((await lists[step.kind]()).includes(step.names[0])) return 'changed';
    }
  },
  updated: async step => {
    if (stateless()) await listen({ resourceSubscriptions: [step.uri] });
    else await client.subscribeResource({ uri: step.uri });
    const before = heard.length;
    await callTool(step);
    await hear(step, before, n => n.method === 'notifications/resources/updated' && n.params.uri === step.uri);
    return 'updated';
  },
  logged: async step => {
    if (!stateless()) await client.setLoggingLevel('debug');
    const before = heard.length;
    await callTool(step, {}, stateless() ? { 'io.modelcontextprotocol/logLevel': 'debug' } : undefined);
    const { data } = (await hear(step, before, n => n.method === 'notifications/message')).params;
    return data.msg ?? data;
  },
  asked: async step => text(await callTool(step)),
};

if (planText === 'loop') await loop(client, transport(), (call, o) => callTool(call, o).then(r => ({ text: text(r), isError: r.isError === true })));

const out = { results: [] };
try {
  await client.connect(transport());
  out.version = newest ? client.getNegotiatedProtocolVersion() : '';
  for (const step of JSON.parse(planText)) {
    out.results.push(await features[step.do](step).catch(e => ({ error: String(e?.message ?? e) })));
  }
  await client.close();
} catch (e) {
  out.error = String(e?.stack ?? e);
}
console.log(JSON.stringify(out));
process.exit(0);
