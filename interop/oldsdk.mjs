// The fixture once more, as a server of an old version of the TypeScript SDK, which had no class for servers with tools
// yet.
//
//   node oldsdk.mjs sdk-1.0|sdk-1.10|sdk-1.20 stdio
//   PORT=N node -r ./loopback.cjs oldsdk.mjs … http   at /mcp with sessions, from 1.10 on
//   PORT=N node -r ./loopback.cjs oldsdk.mjs … sse    HTTP+SSE at /sse
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

const [, , sdk, mode] = process.argv;
const parts = ['server/index.js', 'server/stdio.js', 'server/sse.js', 'types.js', ...sdk === 'sdk-1.0' ? [] : ['server/streamableHttp.js']];
const lib = Object.assign({}, ...await Promise.all(parts.map(part => import(`${sdk}/${part}`))));

const starting = typed => ['Ada', 'Alan', 'Grace'].filter(name => name.toLowerCase().startsWith(typed.toLowerCase()));
const text = said => ({ content: [{ type: 'text', text: said }] });
const scheme = (process.env.SCHEME ?? 'note') + '://'; // of its own for each server behind one host
const sleep = ms => new Promise(done => setTimeout(done, ms));
const grown = new Set();
let counter = 0;
let waiting = 0;

// tools are functions of the arguments, the request, what belongs to it, and the server.
const tools = {
  add: ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  echo: args => text(args.text),
  fail: () => ({ ...text('it did not work'), isError: true }),
  steps: async ({ n }, { params }, extra, s) => {
    for (let i = 1; i <= n; i++) {
      const progress = { method: 'notifications/progress', params: { progressToken: params._meta?.progressToken, progress: i, total: n } };
      if (params._meta?.progressToken !== undefined) await (extra.sendNotification ?? s.notification.bind(s))(progress);
      await sleep(10);
    }
    return text('done');
  },
  wait: async (_, __, { signal }) => {
    waiting++;
    await new Promise(done => signal.addEventListener('abort', done));
    waiting--;
    return text('waited');
  },
  waits: async () => {
    for (let i = 0; i < 200 && waiting > 0; i++) await sleep(10);
    return text(String(waiting));
  },
  log: async (args, _, extra, s) => {
    await (extra.sendNotification ?? s.notification.bind(s))({ method: 'notifications/message', params: { level: 'info', data: { msg: args.text } } });
    return text('logged');
  },
  touch: (_, __, ___, s) => {
    setTimeout(() => s.sendResourceUpdated({ uri: scheme + 'counter' }));
    return text(String(++counter));
  },
  grow: ({ name }, _, __, s) => {
    grown.add(name);
    setTimeout(() => s.sendToolListChanged());
    return text('grown');
  },
};
if (lib.ElicitResultSchema) tools.ask = async (_, __, extra) => {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  const params = { message: 'Your name?', requestedSchema };
  return text('Hello, ' + (await extra.sendRequest({ method: 'elicitation/create', params }, lib.ElicitResultSchema)).content.name);
};

function build() {
  const capabilities = { tools: { listChanged: true }, resources: { subscribe: true }, prompts: {}, logging: {}, ...sdk === 'sdk-1.0' ? {} : { completions: {} } };
  const s = new lib.Server({ name: 'fixture', version: '1.0.0' }, { capabilities });
  const on = (name, handle) => s.setRequestHandler(lib[name + 'RequestSchema'], handle);
  on('ListTools', () => ({ tools: [...Object.keys(tools), ...grown].map(name => ({ name, inputSchema: { type: 'object' } })) }));
  on('CallTool', async (request, extra) => {
    const { name, arguments: args } = request.params;
    return grown.has(name) ? text('I am ' + name) : tools[name](args ?? {}, request, extra, s);
  });
  on('ListResources', () => ({ resources: ['hello', 'counter'].map(name => ({ uri: scheme + name, name })) }));
  on('ListResourceTemplates', () => ({ resourceTemplates: [{ uriTemplate: scheme + 'by/{name}', name: 'by name' }] }));
  on('ReadResource', ({ params: { uri } }) => {
    const name = uri.replace(scheme, '');
    return { contents: [{ uri, mimeType: 'text/plain', text: name === 'hello' ? name : 'a note by ' + name.replace('by/', '') }] };
  });
  on('ListPrompts', () => ({ prompts: [{ name: 'greet', arguments: [{ name: 'name', required: true }] }] }));
  on('GetPrompt', ({ params }) => ({ messages: [{ role: 'user', content: { type: 'text', text: 'Greet ' + params.arguments.name } }] }));
  on('Complete', ({ params }) => ({ completion: { values: starting(params.argument.value) } }));
  for (const name of ['Subscribe', 'Unsubscribe', 'SetLevel']) on(name, () => ({}));
  return s;
}

const sessions = new Map();

async function overHTTP(req, res) {
  const known = sessions.get(req.headers['mcp-session-id']);
  if (known) return known.handleRequest(req, res);
  if (req.headers['mcp-session-id']) return res.writeHead(404).end();
  const session = new lib.StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: id => sessions.set(id, session) });
  await build().connect(session);
  return session.handleRequest(req, res);
}

async function overSSE(req, res) {
  const { pathname, searchParams } = new URL(req.url, 'http://localhost');
  if (pathname === '/messages') return sessions.get(searchParams.get('sessionId')).handlePostMessage(req, res);
  if (pathname !== '/sse' || req.method !== 'GET') return res.writeHead(404).end();
  const session = new lib.SSEServerTransport('/messages', res);
  sessions.set(session.sessionId, session);
  return build().connect(session);
}

const modes = {
  stdio: () => build().connect(new lib.StdioServerTransport()),
  http: () => createServer(overHTTP).listen(process.env.PORT),
  sse: () => createServer(overSSE).listen(process.env.PORT),
};
await modes[mode]();
