// The fixture once more, as a server of the TypeScript SDK: the same tools, resources and prompts, in the same words.
//
//   node server.mjs stdio                               both eras
//   PORT=N node -r ./loopback.cjs server.mjs http       at /mcp both eras, the session era with sessions
//   PORT=N node -r ./loopback.cjs server.mjs stateless  at /mcp both eras, without sessions
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import {
  McpServer, ResourceTemplate, WebStandardStreamableHTTPServerTransport,
  acceptedContent, completable, createMcpHandler, fromJsonSchema, inputRequired, isLegacyRequest,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const starting = typed => ['Ada', 'Alan', 'Grace'].filter(name => name.toLowerCase().startsWith(typed.toLowerCase()));
const text = said => ({ content: [{ type: 'text', text: said }] });
const sleep = ms => new Promise(done => setTimeout(done, ms));

// What all instances share: over HTTP the SDK wants one instance for each session or, without sessions, each request.
const grown = new Set();
const waiting = new Set();
let counter = 0;

// build makes one instance. Announce tells clients of the stateless era over HTTP what has changed; elsewhere the
// instance does so itself.
function build(announce) {
  const s = new McpServer({ name: 'fixture', version: '1.0.0' }, {
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {} },
    instructions: 'Try every feature once.',
  });
  for (const [name, { run, ...definition }] of Object.entries(tools(s, announce))) s.registerTool(name, definition, run);
  for (const name of grown) addGrown(s, name);
  addResources(s);
  s.registerPrompt('greet', { description: 'Greets somebody', argsSchema: z.object({ name: completable(z.string().describe('a name'), starting) }) },
    ({ name }) => ({ description: 'Greets somebody', messages: [{ role: 'user', content: { type: 'text', text: 'Greet ' + name } }] }));
  return s;
}

// takes is the schema of arguments that are all required.
const takes = properties => fromJsonSchema({
  type: 'object', ...properties && { properties, required: Object.keys(properties) }, additionalProperties: false,
});

const tools = (s, announce) => ({
  add: {
    title: 'Add', description: 'Adds two numbers', annotations: { readOnlyHint: true },
    inputSchema: takes({ a: { type: 'integer', description: 'first addend' }, b: { type: 'integer', description: 'second addend' } }),
    outputSchema: fromJsonSchema({ type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] }),
    run: async ({ a, b }) => ({ ...text(`{"sum":${a + b}}`), structuredContent: { sum: a + b } }),
  },
  ask: {
    description: 'Asks for a name', inputSchema: takes(),
    run: async (_, c) => {
      const answer = acceptedContent(c.mcpReq.inputResponses, 'who');
      if (answer) return text('Hello, ' + answer.name);
      const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
      return inputRequired({ inputRequests: { who: inputRequired.elicit({ mode: 'form', message: 'Your name?', requestedSchema }) } });
    },
  },
  echo: { description: 'Returns the text', inputSchema: takes({ text: { type: 'string' } }), run: async args => text(args.text) },
  fail: { description: 'Always fails', inputSchema: takes(), run: async () => { throw new Error('it did not work'); } },
  grow: {
    description: 'Registers a tool', inputSchema: takes({ name: { type: 'string', description: 'a name' } }),
    run: async ({ name }) => {
      grown.add(name);
      if (announce) announce.toolsChanged(); else setTimeout(() => addGrown(s, name));
      return text('grown');
    },
  },
  log: {
    description: 'Logs to the client', inputSchema: takes({ text: { type: 'string' } }),
    run: async (args, c) => { await c.mcpReq.log('info', { msg: args.text }, 'fixture'); return text('logged'); },
  },
  media: {
    description: 'Shows every kind of content', inputSchema: takes(),
    run: async () => ({ content: [
      { type: 'text', text: 'words' },
      { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
      { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'note://hello', name: 'hello' },
      { type: 'resource', resource: { uri: 'note://hello', mimeType: 'text/plain', text: 'hello' } },
    ] }),
  },
  panics: { description: 'Has a mistake', inputSchema: takes(), run: async () => undefined.mistake },
  roots: { description: 'Asks for the roots', inputSchema: takes(), run: async (_, c) => text((await c.mcpReq.send({ method: 'roots/list' })).roots.map(r => r.uri).join('\n')) },
  steps: {
    description: 'Reports progress', inputSchema: takes({ n: { type: 'integer', minimum: 0, maximum: 1000 } }),
    run: async ({ n }, c) => {
      for (let i = 1; i <= n; i++) {
        await progress(c, { progress: i, total: n, message: `step ${i}` });
        await sleep(10);
      }
      return text('done');
    },
  },
  touch: {
    description: 'Updates a resource', inputSchema: takes(),
    run: async () => {
      counter++;
      const uri = 'note://counter';
      if (announce) announce.resourceUpdated(uri); else setTimeout(() => s.server.sendResourceUpdated({ uri }));
      return text(String(counter));
    },
  },
  wait: {
    description: 'Waits until it is cancelled', inputSchema: takes(),
    run: async (_, c) => {
      waiting.add(c);
      await progress(c, { progress: 0, message: 'waiting' });
      const { signal } = c.mcpReq;
      if (!signal.aborted) await new Promise(done => signal.addEventListener('abort', done));
      waiting.delete(c);
      return text('waited');
    },
  },
  waits: {
    description: 'Tells how many wait, once nobody does or after two seconds', inputSchema: takes(),
    run: async () => {
      for (let i = 0; i < 200 && waiting.size > 0; i++) await sleep(10);
      return text(String(waiting.size));
    },
  },
});

async function progress(c, how) {
  const progressToken = c.mcpReq._meta?.progressToken;
  if (progressToken !== undefined) await c.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...how } });
}

function addGrown(s, name) {
  s.registerTool(name, { description: 'Grown', inputSchema: takes() }, async () => text('I am ' + name));
}

function addResources(s) {
  const mimeType = 'text/plain';
  const one = (uri, said) => ({ contents: [{ uri: uri.href, mimeType, text: said }] });
  s.registerResource('counter', 'note://counter', { mimeType }, async uri => one(uri, String(counter)));
  s.registerResource('hello', 'note://hello', { mimeType }, async uri => one(uri, 'hello'));
  s.registerResource('by name', new ResourceTemplate('note://by/{name}', { list: undefined, complete: { name: starting } }), { mimeType },
    async (uri, { name }) => one(uri, 'a note by ' + decodeURIComponent(name)));
  s.server.setRequestHandler('resources/subscribe', async () => ({}));
  s.server.setRequestHandler('resources/unsubscribe', async () => ({}));
}

// withSessions serves the stateless era as it is, and the session era with sessions.
function withSessions() {
  const modern = createMcpHandler(() => build(modern.notify), { legacy: 'reject' });
  const sessions = new Map();
  return async (request, o) => {
    if (!await isLegacyRequest(request, o.parsedBody)) return modern.fetch(request, o);
    const id = request.headers.get('mcp-session-id');
    if (id !== null) return sessions.get(id)?.handleRequest(request, o) ?? new Response('no such session', { status: 404 });
    const session = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: id => { sessions.set(id, session); } });
    session.onclose = () => sessions.delete(session.sessionId);
    await build().connect(session);
    return session.handleRequest(request, o);
  };
}

function withoutSessions() {
  const both = createMcpHandler(() => build(both.notify), { legacy: 'stateless' });
  return both.fetch;
}

// listen gives the requests of Node to a handler of web requests. It parses their bodies, because the SDK would clone a
// request to do so, and Node 20 may forget to pass an abort on to a clone.
function listen(handle) {
  const web = createServer(async (req, res) => {
    const gone = new AbortController();
    res.on('close', () => gone.abort());
    const body = req.method === 'POST' ? Buffer.concat(await req.toArray()) : undefined;
    const headers = new Headers(Object.entries(req.headers).map(([name, value]) => [name, String(value)]));
    try {
      const request = new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers, body, signal: gone.signal });
      const answer = await handle(request, { parsedBody: body && JSON.parse(body) });
      res.writeHead(answer.status, Object.fromEntries(answer.headers));
      res.flushHeaders();
      if (answer.body) Readable.fromWeb(answer.body).on('error', () => res.destroy()).pipe(res);
      else res.end();
    } catch (e) {
      res.writeHead(500).end(String(e));
    }
  });
  web.listen(process.env.PORT);
}

const modes = { stdio: () => serveStdio(() => build()), http: () => listen(withSessions()), stateless: () => listen(withoutSessions()) };
modes[process.argv[2]]();
